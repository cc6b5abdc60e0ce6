package ui

import (
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/towline-io/towline/pkg/view"
)

// builder makes the chunks of a page.
type builder func(v *visit, p *painted) error

// visit is a browser's look at one page.
type visit struct {
	Hub     Hub
	Request *http.Request

	build builder
	fleet *Fleet

	// has are the sums of the chunks that a stream's browser has: lines of a matrix are made anew only where they differ.
	has map[string]uint64
}

// painted is a page.
type painted struct {
	// Title names it, Page is its entry of the navigation, and Query goes with each link.
	Title, Page, Query string

	Chunks  []chunk
	Version uint64

	// concerns are the rows that the page shows: it differs only where they do. Nil for all.
	concerns func(*view.Row) bool
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
func (v *visit) paint() (*painted, error) {
	f, err := v.Hub.Fleet(v.Request.Context(), v.namespaces())
	if err != nil {
		return nil, err
	}
	v.fleet = f
	p := &painted{Version: f.Version, Query: v.query()}
	if err := p.add("unread.html", "unread", v.unread()); err != nil {
		return nil, err
	}
	return p, v.build(v, p)
}

// unread says what may not be read, and how to look into single namespaces.
func (v *visit) unread() any {
	return struct {
		Unread, Namespaces []string
		Reading            bool
	}{v.fleet.Unread, v.namespaces(), v.fleet.Reading}
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
	for _, c := range p.Chunks {
		if _, err := io.WriteString(w, c.HTML); err != nil {
			return err
		}
	}
	return templates().ExecuteTemplate(w, "foot.html", p)
}

// rows are those that a page is about.
func (v *visit) rows(concerns func(*view.Row) bool) []view.Row {
	if concerns == nil {
		return v.fleet.Rows
	}
	var out []view.Row
	for i := range v.fleet.Rows {
		if concerns(&v.fleet.Rows[i]) {
			out = append(out, v.fleet.Rows[i])
		}
	}
	return out
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

// rowsSum differs where the rows that a page concerns do.
func rowsSum(rows []view.Row) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, r := range rows {
		heard := stamp(r.Heard)
		r.Heard = nil
		maphash.WriteComparable(&h, r)
		maphash.WriteComparable(&h, heard)
	}
	return h.Sum64()
}
