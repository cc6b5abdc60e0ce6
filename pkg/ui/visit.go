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

// visit is how a page is painted once.
type visit struct {
	Hub     Hub
	Request *http.Request

	page  *page
	fleet *Fleet
}

// painted is a page as it was at one time. It does not change.
type painted struct {
	// Title names it, Page is its entry of the navigation, and Query goes with each link.
	Title, Page, Query string

	Chunks  []chunk
	Version uint64

	fleet *Fleet

	// more is set where the page shows what was read for it beside the fleet.
	more bool
}

// namespaces are those that the user looks at; none for all.
func (v *visit) namespaces() []string {
	var out []string
	for _, n := range v.Request.URL.Query()["namespace"] {
		if n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// query is what each link of a page keeps: the namespaces.
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

// keep is the page as it was painted before, with what is to be said of the fleet now; where there is none, it says since when the API server is
// away.
func (v *visit) keep(was *painted, because error) (*painted, error) {
	if was == nil {
		return nil, &Refusal{Code: http.StatusBadGateway, Message: fmt.Sprintf("The API server was last heard at %s. This page comes when it is back: %v",
			stamp(&v.fleet.Outdated[0].Since), because)}
	}
	notice, err := render("unread.html", "unread", v.unread())
	p := *was
	p.Version, p.fleet = v.fleet.Version, v.fleet
	p.Chunks = append([]chunk{notice}, was.Chunks[1:]...)
	return &p, err
}

// unread says what may not be read, and how to look into single namespaces, and what is not current.
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

// alike tells whether two fleets are the same apart from their places.
func (f *Fleet) alike(g *Fleet) bool {
	return f.ManagedUnread == g.ManagedUnread && f.Reading == g.Reading && slices.Equal(f.Labels, g.Labels) && slices.Equal(f.Unread, g.Unread) &&
		slices.Equal(f.Outdated, g.Outdated)
}

// notFound is what is said of something that is not there.
func notFound(format string, args ...any) error {
	return &Refusal{Code: http.StatusNotFound, Message: fmt.Sprintf(format, args...)}
}

// Digest is another one whenever the chunks are: a browser says by it what it has.
func (p *painted) Digest() string {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, c := range p.Chunks {
		maphash.WriteComparable(&h, c.sum)
	}
	return strconv.FormatUint(h.Sum64(), 36)
}
