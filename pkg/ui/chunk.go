package ui

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/towline-io/towline/pkg/view"
)

// seed is the seed of all sums. Each process has a different seed, so that no person can construct two texts with the
// same sum.
var seed = maphash.MakeSeed()

// chunk is a piece of a page. A chunk with an ID is an element that can replace the browser's element.
type chunk struct {
	ID string

	// sum differs if the HTML differs. html returns the HTML. Most chunks need only the sum.
	sum  uint64
	html func() (string, error)
}

// plain returns a chunk that never changes.
func plain(html string) chunk { return chunk{sum: maphash.String(seed, html), html: ready(html)} }

func ready(html string) func() (string, error) { return func() (string, error) { return html, nil } }

// render returns a chunk from a template.
func render(name, id string, data any) (chunk, error) {
	html, err := execute(name, data)
	return chunk{ID: id, sum: maphash.String(seed, html), html: ready(html)}, err
}

// later returns a chunk from a template. The template is executed on demand.
func later(name, id string, sum uint64, data func() any) chunk {
	return chunk{ID: id, sum: sum, html: func() (string, error) { return execute(name, data()) }}
}

func execute(name string, data any) (string, error) {
	var out bytes.Buffer
	err := templates().ExecuteTemplate(&out, name, data)
	return out.String(), err
}

// part is a chunk in the format of the page's script.
type part struct{ ID, HTML string }

// patches returns the changed chunks, for a browser with the earlier chunks. same is false if the pages have different
// elements. Then the browser must load the whole page.
func patches(before, now []chunk) (changed []part, same bool, err error) {
	if !slices.EqualFunc(before, now, func(a, b chunk) bool { return a.ID == b.ID && (a.ID != "" || a.sum == b.sum) }) {
		return nil, false, nil
	}
	for i := range now {
		if now[i].sum == before[i].sum {
			continue
		}
		html, err := now[i].html()
		if err != nil {
			return nil, false, err
		}
		changed = append(changed, part{now[i].ID, html})
	}
	return changed, true, nil
}

// sumOf returns a sum of comparable values. The sum changes with any value.
func sumOf(values ...any) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, v := range values {
		maphash.WriteComparable(&h, v)
	}
	return h.Sum64()
}

// sumOfRows returns a sum of rows. The sum changes with any row.
func sumOfRows(rows []view.Row) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, r := range rows {
		maphash.WriteComparable(&h, stamp(r.Heard))
		r.Heard = nil
		maphash.WriteComparable(&h, r)
	}
	return h.Sum64()
}
