package informer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func TestNextPage(t *testing.T) {
	for title, tc := range map[string]struct{ limit, had, bytes, want int64 }{
		"small objects":                 {50, 50, 50 * 3000, 100},
		"small objects, in the end":     {400, 400, 400 * 3000, 500},
		"objects of 8 KB":               {200, 200, 200 * 8192, 256},
		"as large as can be":            {50, 50, 50 * 1_500_000, 5},
		"smaller ones after large ones": {5, 5, 5 * 3000, 10},
		"a page that is not full":       {500, 10, 10 * 3000, 500},
		"an empty page":                 {50, 0, 200, 50},
		"nobody has counted":            {50, 50, 0, 50},
	} {
		if got := nextPage(tc.limit, tc.had, tc.bytes); got != tc.want {
			t.Errorf("%s: %d, want %d", title, got, tc.want)
		}
	}
}

// served lists objects of the given sizes in bytes over HTTP, and records the number of objects of each request.
func served(t *testing.T, sizes []int) (lists func(context.Context, metav1.ListOptions) (runtime.Object, error), limits *[]int) {
	t.Helper()
	limits = &[]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		to, _ := strconv.Atoi(r.URL.Query().Get("to"))
		*limits = append(*limits, to-from)
		for _, size := range sizes[from:to] {
			_, _ = io.WriteString(w, strings.Repeat("x", size))
		}
	}))
	t.Cleanup(server.Close)
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: server.URL, QPS: -1, WrapTransport: Counted, ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		from, _ := strconv.Atoi(o.Continue)
		to := min(from+int(o.Limit), len(sizes))
		if err := client.Get().Param("from", strconv.Itoa(from)).Param("to", strconv.Itoa(to)).Do(ctx).Error(); err != nil {
			return nil, err
		}
		page := &metav1.PartialObjectMetadataList{Items: make([]metav1.PartialObjectMetadata, to-from)}
		if to < len(sizes) {
			page.Continue = strconv.Itoa(to)
		}
		return page, nil
	}, limits
}

// TestPagesFollowTheirSize: large objects are read in small pages, and small objects in large pages.
func TestPagesFollowTheirSize(t *testing.T) {
	small, large := slices.Repeat([]int{3000}, 10_000), slices.Repeat([]int{1_000_000}, 60)
	for title, tc := range map[string]struct {
		sizes    []int
		requests int
	}{
		"small":             {small, 25},
		"large":             {large, 15},
		"small, then large": {slices.Concat(small, large), 42},
		"large, then small": {slices.Concat(large, small), 45},
	} {
		t.Run(title, func(t *testing.T) {
			lists, limits := served(t, tc.sizes)
			s := NewSieve(&cache.ListWatch{ListWithContextFunc: lists})
			list, err := s.ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				t.Fatal(err)
			}
			if got := meta.LenList(list); got != len(tc.sizes) || slices.Max(*limits) > maxPage || len(*limits) > tc.requests {
				t.Errorf("%d objects were read of %d, with pages of %v", got, len(tc.sizes), *limits)
			}
		})
	}
}

// TestNoPageIsHeldThatIsTooLarge: the reading of a too large page ends, except for the smallest possible page.
func TestNoPageIsHeldThatIsTooLarge(t *testing.T) {
	endless := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.LimitReader(zeros{}, 4*mostBytes))}, nil
	})
	for limit, want := range map[int64]int64{minPage: 4 * mostBytes, minPage + 1: mostBytes + 1<<20} {
		ctx, a := expecting(t.Context(), limit)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://hub.example.com", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := Counted(endless).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if n > want || a.tooLarge() != (limit > minPage) || errors.Is(err, errTooLarge) != a.tooLarge() {
			t.Errorf("of a page of %d, %d bytes are read: %v", limit, n, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
