package informer

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
)

// All objects of a page are in Towline's memory in full, and each object can have 1.5 MB. The size of the first page's
// objects is unknown. A request for each 2 MiB costs next to nothing, and larger pages gain nothing. A page eight times
// larger than planned is read again in smaller pages: objects full of cluster reports may come after many small
// objects.
const (
	firstPage        = 50
	minPage, maxPage = 5, 500
	pageBytes        = 2 << 20
	mostBytes        = 8 * pageBytes
)

// errTooLarge ends the reading of a page. client-go logs errTooLarge as an unexpected error.
var errTooLarge = errors.New("the page is too large, and is read again in smaller ones")

// answer counts the bytes of an answer during the read. The goroutine of the request also reads the answer, so answer
// needs no lock.
type answer struct{ bytes, most int64 }

func (a *answer) tooLarge() bool { return a.bytes > a.most }

type answerKey struct{}

// expecting returns a context for the request of a page with up to limit objects. The smallest page may have any size.
func expecting(ctx context.Context, limit int64) (context.Context, *answer) {
	a := &answer{most: mostBytes}
	if limit <= minPage {
		a.most = math.MaxInt64
	}
	return context.WithValue(ctx, answerKey{}, a), a
}

// Counted reports the size of pages to a Sieve, if the client of the Sieve uses Counted as its transport. Without
// Counted, all pages have the number of objects of the first page.
func Counted(next http.RoundTripper) http.RoundTripper { return counted{next} }

type counted struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. A repeated request starts the count at zero again.
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

// nextPage returns the limit of the next page, from the limit, the number of objects and the bytes of the last page.
// The limit at most doubles, since the next objects may be larger.
func nextPage(limit, had, bytes int64) int64 {
	if had == 0 || bytes == 0 {
		return limit
	}
	return min(max(had*pageBytes/bytes, minPage), 2*limit, maxPage)
}
