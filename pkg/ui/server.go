package ui

import (
	"bufio"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

//go:embed assets
var assets embed.FS

//go:embed templates
var files embed.FS

// templates are those of all pages. They are parsed when the first page is made: the controller, which has none, does not pay for them.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(files, "templates/*.html"))
})

// writeBuffer is how much of a page is sent at a time.
const writeBuffer = 32 << 10

// server serves the pages.
type server struct {
	source Source
	pages  pages
}

// Handler serves the pages of the hub that source gives each request. Guard it by Local or Proxied: it lets everybody through.
func Handler(source Source) http.Handler {
	s := &server{source: source, pages: pages{shared: map[pageKey]*page{}}}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", http.FileServerFS(assets))
	mux.HandleFunc("GET /{$}", s.page(fleetPage))
	mux.HandleFunc("GET /attention", s.page(attentionPage))
	mux.HandleFunc("GET /sets/{namespace}/{name}", s.page(setPage))
	mux.HandleFunc("GET /applications/{namespace}/{name}", s.page(applicationPage))
	mux.HandleFunc("GET /clusters", s.page(clustersPage))
	mux.HandleFunc("GET /clusters/{name}", s.page(clusterPage))
	return secure(mux)
}

// page serves one page: as HTML, and as a stream of what changes in it to who asks for that.
func (s *server) page(build builder) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		hub, err := s.source.For(r)
		if err != nil {
			fail(w, err)
			return
		}
		page := s.pages.join(hub, r, build)
		defer s.pages.leave(page)
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			page.stream(w, r)
			return
		}
		p, err := page.come(r)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		out := bufio.NewWriterSize(w, writeBuffer) // pages have thousands of small pieces
		if p.write(out) != nil || out.Flush() != nil {
			return // the browser has gone
		}
	}
}

// fail says why there is no page.
func fail(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	var refusal *Refusal
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &refusal):
		code = refusal.Code
	case errors.As(err, &status):
		if c := int(status.Status().Code); c >= http.StatusBadRequest {
			code = c
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	data := map[string]any{"Code": code, "Text": http.StatusText(code), "Message": err.Error()}
	if err := templates().ExecuteTemplate(w, "failed.html", data); err != nil {
		return // the browser has gone
	}
}
