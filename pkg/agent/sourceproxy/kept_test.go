package sourceproxy

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const (
	refs   = "001e# service=git-upload-pack\n0000003fbeef refs/heads/main\n0000"
	lsRefs = "0014command=ls-refs\n0000"
	fetch  = "0012command=fetch\n0000"
)

// fault is a failure of the hub.
type fault int32

const (
	none fault = iota
	hanging
	cut
)

// faultyHub answers with a code, or fails.
type faultyHub struct {
	code  atomic.Int32
	fault atomic.Int32
}

func (h *faultyHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // the server notices the end of a connection after the end of the body
	switch fault(h.fault.Load()) {
	case hanging:
		<-r.Context().Done()
	case cut:
		_, _ = io.WriteString(w, refs[:20])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case none:
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		w.WriteHeader(int(h.code.Load()))
		_, _ = io.WriteString(w, string(body)+refs)
	}
}

// TestKeptAnswers checks that references are known without the hub, and are forgotten after a refusal of the hub.
func TestKeptAnswers(t *testing.T) {
	for title, tc := range map[string]struct {
		code      int
		fault     fault
		closed    bool
		kept      bool // the client gets the kept answer
		forgotten bool // the answer is not kept afterwards
	}{
		"closed":               {code: 200, closed: true, kept: true},
		"hanging":              {code: 200, fault: hanging, kept: true},
		"cut":                  {code: 200, fault: cut, kept: true},
		"bad gateway":          {code: 502, kept: true},
		"service unavailable":  {code: 503, kept: true},
		"gateway timeout":      {code: 504, kept: true},
		"unauthorized":         {code: 401, forgotten: true},
		"forbidden":            {code: 403, forgotten: true},
		"not found":            {code: 404, forgotten: true},
		"gone":                 {code: 410, forgotten: true},
		"the Git server fails": {code: 424},
		"too many requests":    {code: 429},
		"internal error":       {code: 500},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			hub := &faultyHub{}
			hub.code.Store(200)
			s := start(t, hub.ServeHTTP, func(p *Proxy) {
				if tc.fault == hanging { // on a busy machine, any other answer may take this long
					p.keptTimeout = 200 * time.Millisecond
				}
			})
			ask := func() map[string]string {
				out := map[string]string{}
				for name, answer := range map[string]func() (int, string){
					"info/refs": func() (int, string) { return s.references(t, "apps") },
					"ls-refs":   func() (int, string) { return s.command(t, "apps", lsRefs) },
				} {
					if code, text := answer(); code == http.StatusOK {
						out[name] = text
					}
				}
				return out
			}
			before := ask()
			if len(before) != 2 || before["ls-refs"] != lsRefs+refs {
				t.Fatalf("the hub answers %v", before)
			}
			hub.code.Store(int32(tc.code))
			hub.fault.Store(int32(tc.fault))
			if tc.closed {
				s.hub.Close()
			}
			after := ask()
			if got := len(after) == 2; got != tc.kept {
				t.Errorf("kept answers: %v", after)
			}
			for name, text := range after {
				if text != before[name] {
					t.Errorf("%s: %q", name, text)
				}
			}
			hub.fault.Store(int32(none))
			hub.code.Store(503)
			if got := len(ask()) == 0; got != tc.forgotten {
				t.Errorf("forgotten: %v", got)
			}
		})
	}
}

// TestQuestionsDiffer checks that a kept answer is no answer to a different question.
func TestQuestionsDiffer(t *testing.T) {
	hub := &faultyHub{}
	hub.code.Store(200)
	s := start(t, hub.ServeHTTP)
	s.references(t, "apps")
	s.command(t, "apps", lsRefs)
	s.command(t, "apps", fetch)
	hub.code.Store(503)
	version2 := s.request(t, http.MethodGet, "/apps/info/refs?service=git-upload-pack", nil)
	version2.Header.Set("Git-Protocol", "version=2")
	for title, ask := range map[string]func() (int, string){
		"other repository": func() (int, string) { return s.references(t, "apps2") },
		"other protocol":   func() (int, string) { return s.do(t, version2) },
		"other prefix": func() (int, string) {
			return s.command(t, "apps", "0014command=ls-refs\n0001001aref-prefix refs/heads\n0000")
		},
		"objects": func() (int, string) { return s.command(t, "apps", fetch) },
	} {
		if code, text := ask(); code != http.StatusBadGateway {
			t.Errorf("%s: %d %s", title, code, text)
		}
	}
	if code, _ := s.references(t, "apps"); code != http.StatusOK {
		t.Errorf("the same question: %d", code)
	}
}

// TestRefusedObjects checks that a refusal of objects is the end of the kept references too.
func TestRefusedObjects(t *testing.T) {
	hub := &faultyHub{}
	hub.code.Store(200)
	s := start(t, hub.ServeHTTP)
	s.references(t, "apps")
	s.references(t, "other")
	hub.code.Store(404)
	if code, _ := s.command(t, "apps", fetch); code != http.StatusNotFound {
		t.Errorf("objects: %d", code)
	}
	hub.code.Store(503)
	if code, _ := s.references(t, "apps"); code != http.StatusBadGateway {
		t.Errorf("references: %d", code)
	}
	if code, _ := s.references(t, "other"); code != http.StatusOK {
		t.Errorf("references of the other repository: %d", code)
	}
}

// TestNoAnswer checks the longest wait for a hub that does not answer. The answer of the hub to the end of the request,
// 200 without a body, is no answer.
func TestNoAnswer(t *testing.T) {
	hub := &faultyHub{}
	hub.fault.Store(int32(hanging))
	s := start(t, hub.ServeHTTP, func(p *Proxy) { p.answerTimeout = 50 * time.Millisecond })
	if code, text := s.references(t, "apps"); code != http.StatusBadGateway {
		t.Errorf("%d %s", code, text)
	}
	s.Proxy.hub.Transport = answersAtTheEnd{}
	if code, text := s.references(t, "apps"); code != http.StatusBadGateway || !strings.Contains(text, errNoAnswer.Error()) {
		t.Errorf("a late answer: %d %s", code, text)
	}
}

// answersAtTheEnd answers at the end of the request's context.
type answersAtTheEnd struct{}

func (answersAtTheEnd) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestAnswerAtTheTimeout checks an answer that arrives when the wait ends, before the end of the request. RoundTrip must
// return the answer or an error.
func TestAnswerAtTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Proxy{hub: Hub{Transport: answersAfter(time.Second)}, answerTimeout: time.Second}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://hub", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			resp, err := (&call{Proxy: p}).RoundTrip(r)
			if (resp == nil) != (err != nil) {
				t.Fatalf("%v, %v", resp, err)
			}
			if resp != nil {
				resp.Body.Close()
			}
		}
	})
}

// answersAfter answers after a time, and does not look at the request's context.
type answersAfter time.Duration

func (d answersAfter) RoundTrip(*http.Request) (*http.Response, error) {
	<-time.After(time.Duration(d))
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}
