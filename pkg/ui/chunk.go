package ui

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// seed is that of all sums. It is another one in each process, so that nobody can make two texts with one sum.
var seed = maphash.MakeSeed()

// chunk is a piece of a page. One with an ID is an element that can be put in place of the one that the browser has.
type chunk struct {
	ID   string
	HTML string

	// sum differs where the HTML does. A chunk that has not changed for a stream has a sum alone.
	sum uint64
}

// plain is a chunk that stays as long as the page does.
func plain(html string) chunk { return chunk{HTML: html, sum: maphash.String(seed, html)} }

// render is a chunk by a template.
func render(name, id string, data any) (chunk, error) {
	var out bytes.Buffer
	err := templates().ExecuteTemplate(&out, name, data)
	return chunk{ID: id, HTML: out.String(), sum: maphash.Bytes(seed, out.Bytes())}, err
}

// mark is what a stream remembers of a chunk that the browser has.
type mark struct {
	id  string
	sum uint64
}

func marks(chunks []chunk) []mark {
	out := make([]mark, len(chunks))
	for i, c := range chunks {
		out[i] = mark{c.ID, c.sum}
	}
	return out
}

// patches are the chunks that differ, for a browser that has the ones before. It is false where the pages have different pieces, so that the
// browser has to take the whole.
func patches(before []mark, now []chunk) ([]chunk, bool) {
	if !slices.EqualFunc(before, now, func(a mark, b chunk) bool { return a.id == b.ID && (a.id != "" || a.sum == b.sum) }) {
		return nil, false
	}
	var out []chunk
	for i := range now {
		if now[i].sum != before[i].sum {
			out = append(out, now[i])
		}
	}
	return out, true
}
