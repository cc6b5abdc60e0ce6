package ui

import (
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// builder makes the chunks of a page.
type builder func(v *visit, p *painted) error

// visit is one paint of a page.
type visit struct {
	Hub     Hub
	Request *http.Request

	page  *page
	fleet *Fleet
}

// painted is the immutable result of one paint.
type painted struct {
	// Title is the title of the page, Page is its entry of the navigation, and Query is part of each link.
	Title, Page, Query string

	Chunks  []chunk
	Version uint64

	fleet *Fleet

	// more is true if the page shows objects outside the fleet, read for this page.
	more bool
}

// namespaces returns the user's chosen namespaces; none for all.
func (v *visit) namespaces() []string {
	var out []string
	for _, n := range v.Request.URL.Query()["namespace"] {
		if n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// query returns the query for each link of a page: the namespaces.
func (v *visit) query() string {
	if ns := v.namespaces(); len(ns) > 0 {
		return "?" + url.Values{"namespace": ns}.Encode()
	}
	return ""
}

// paint makes the page.
func (v *visit) paint(build builder) (*painted, error) {
	p := &painted{Version: v.fleet.Version, Query: v.query(), fleet: v.fleet}
	if err := p.add("unread.html", "unread", v.unread()); err != nil {
		return nil, err
	}
	return p, build(v, p)
}

// keep returns the previous page with the current notices about the fleet. Without a previous page, keep returns a
// Refusal with the start of the API server's outage.
func (v *visit) keep(was *painted, cause error) (*painted, error) {
	if was == nil {
		return nil, &Refusal{Code: http.StatusBadGateway, Message: fmt.Sprintf("The API server last answered at %s. "+
			"This page returns with the next answer of the API server: %v",
			stamp(&v.fleet.Outdated[0].Since), cause)}
	}
	notice, err := render("unread.html", "unread", v.unread())
	p := *was
	p.Version, p.fleet = v.fleet.Version, v.fleet
	p.Chunks = append([]chunk{notice}, was.Chunks[1:]...)
	return &p, err
}

// unread returns the notice about unreadable and outdated kinds, with the choice of single namespaces.
func (v *visit) unread() any {
	return struct {
		Unread, Namespaces []string
		Outdated           []Outdated
		Reading            bool
	}{v.fleet.Unread, v.namespaces(), v.fleet.Outdated, v.fleet.Reading}
}

// add renders a chunk.
func (p *painted) add(name, id string, data any) error {
	c, err := render(name, id, data)
	p.Chunks = append(p.Chunks, c)
	return err
}

// write writes the page as HTML.
func (p *painted) write(w io.Writer) error {
	if err := templates().ExecuteTemplate(w, "head.html", p); err != nil {
		return err
	}
	for i := range p.Chunks {
		html, err := p.Chunks[i].html()
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, html); err != nil {
			return err
		}
	}
	return templates().ExecuteTemplate(w, "foot.html", p)
}

// alike returns whether two fleets are equal, without their places.
func (f *Fleet) alike(g *Fleet) bool {
	return f.ManagedUnread == g.ManagedUnread && f.Reading == g.Reading && slices.Equal(f.Labels, g.Labels) && slices.Equal(f.Unread, g.Unread) &&
		slices.Equal(f.Outdated, g.Outdated)
}

// notFound returns the Refusal for a missing object.
func notFound(format string, args ...any) error {
	return &Refusal{Code: http.StatusNotFound, Message: fmt.Sprintf(format, args...)}
}

// Digest returns a sum of all chunks. A browser sends the Digest to identify its page.
func (p *painted) Digest() string {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, c := range p.Chunks {
		maphash.WriteComparable(&h, c.sum)
	}
	return strconv.FormatUint(h.Sum64(), 36)
}
