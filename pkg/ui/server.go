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

// templates are the templates of all pages. The first page parses the templates, so the controller, without pages, has
// no cost.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(files, "templates/*.html"))
})

// writeBuffer is the size of the write buffer, in bytes.
const writeBuffer = 32 << 10

// server serves the pages.
type server struct {
	source Source
	pages  pages
}

// Handler serves the pages of the hub that source gives each request. Handler itself admits everyone: guard the result
// with Local or Proxied.
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

// page serves one page as HTML, or as a stream of its changes if the request accepts a stream.
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

// fail writes an error page.
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
