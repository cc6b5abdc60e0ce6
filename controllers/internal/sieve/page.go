package sieve

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
)

// All objects of a page are in Towline's memory in full, and each can have 1.5 MB. Nothing is known of the first page. A request for each 2 MiB costs
// next to nothing, and more in a page gains nothing. What is eight times as large as it was to be is read again in smaller pages: objects that
// clusters have filled may come after many small ones.
const (
	firstPage        = 50
	minPage, maxPage = 5, 500
	pageBytes        = 2 << 20
	mostBytes        = 8 * pageBytes
)

// errTooLarge ends the reading of a page. client-go logs it as an unexpected error.
var errTooLarge = errors.New("the page is too large, and is read again in smaller ones")

// answer counts the bytes of an answer while they are read. The goroutine that asks also reads, so that nothing of it is shared.
type answer struct{ bytes, most int64 }

func (a *answer) tooLarge() bool { return a.bytes > a.most }

type answerKey struct{}

// expecting gives a context for a request for a page of so many objects. The smallest page may be of any size.
func expecting(ctx context.Context, limit int64) (context.Context, *answer) {
	a := &answer{most: mostBytes}
	if limit <= minPage {
		a.most = math.MaxInt64
	}
	return context.WithValue(ctx, answerKey{}, a), a
}

// Counted lets a Sieve know how large its pages are, if it is part of the client that they are read with. Otherwise all pages have the
// size of the first.
func Counted(next http.RoundTripper) http.RoundTripper { return counted{next} }

type counted struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. A request that is made again begins to count anew.
func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if a, ok := r.Context().Value(answerKey{}).(*answer); ok && err == nil {
		a.bytes = 0
		resp.Body = body{resp.Body, a}
	}
	return resp, err
}

type body struct {
	io.ReadCloser
	answer *answer
}

// Read implements io.Reader.
func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.answer.bytes += int64(n)
	if b.answer.tooLarge() {
		return n, errTooLarge
	}
	return n, err
}

// nextPage is how many objects the page after one of that limit is to have, by how many it had and how many bytes. It has twice as many at
// most, since the next ones may be larger.
func nextPage(limit, had, bytes int64) int64 {
	if had == 0 || bytes == 0 {
		return limit
	}
	return min(max(had*pageBytes/bytes, minPage), 2*limit, maxPage)
}
