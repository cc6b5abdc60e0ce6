package ui

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/towline-io/towline/pkg/view"
)

// seed is that of all sums. It is another one in each process, so that nobody can make two texts with one sum.
var seed = maphash.MakeSeed()

// chunk is a piece of a page. One with an ID is an element that can be put in place of the one that the browser has.
type chunk struct {
	ID string

	// sum differs where the HTML does, and html makes it. Of most chunks nobody needs more than the sum.
	sum  uint64
	html func() (string, error)
}

// plain is a chunk that stays as long as the page does.
func plain(html string) chunk { return chunk{sum: maphash.String(seed, html), html: ready(html)} }

func ready(html string) func() (string, error) { return func() (string, error) { return html, nil } }

// render is a chunk by a template.
func render(name, id string, data any) (chunk, error) {
	html, err := execute(name, data)
	return chunk{ID: id, sum: maphash.String(seed, html), html: ready(html)}, err
}

// later is a chunk by a template that is executed when somebody needs it.
func later(name, id string, sum uint64, data func() any) chunk {
	return chunk{ID: id, sum: sum, html: func() (string, error) { return execute(name, data()) }}
}

func execute(name string, data any) (string, error) {
	var out bytes.Buffer
	err := templates().ExecuteTemplate(&out, name, data)
	return out.String(), err
}

// part is a chunk as the page's script takes it.
type part struct{ ID, HTML string }

// patches are the chunks that differ, for a browser that has the ones before. It is false where the pages have different pieces, so that the
// browser has to take the whole.
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

// sumOf is another one whenever one of these values is, which can be compared.
func sumOf(values ...any) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, v := range values {
		maphash.WriteComparable(&h, v)
	}
	return h.Sum64()
}

// sumOfRows is another one whenever rows are.
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
