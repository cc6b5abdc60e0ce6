package sourceproxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyReadsOfRepositoriesReachTheHub(t *testing.T) {
	var reached []string
	s := start(t, func(_ http.ResponseWriter, r *http.Request) { reached = append(reached, r.Method+" "+r.URL.String()) })
	const prefix = "/apis/source.apps.open-cluster-management.io/v1alpha1/namespaces/cluster1/repositories/"
	long := strings.Repeat("a", 253)
	for _, tc := range []struct {
		method, path string
		code         int
		hub          string
	}{
		{"GET", "/apps/info/refs?service=git-upload-pack", 200, "apps/proxy/info/refs?service=git-upload-pack"},
		{"GET", "/a.b-1/info/refs?service=git-upload-pack", 200, "a.b-1/proxy/info/refs?service=git-upload-pack"},
		{"GET", "/" + long + "/info/refs?service=git-upload-pack", 200, long + "/proxy/info/refs?service=git-upload-pack"},
		{"POST", "/apps/git-upload-pack", 200, "apps/proxy/git-upload-pack"},
		{"GET", "/" + long + "a/info/refs?service=git-upload-pack", 404, ""},
		{"GET", "/Apps/info/refs?service=git-upload-pack", 404, ""},
		{"GET", "/../info/refs?service=git-upload-pack", 404, ""},
		{"GET", "/apps/../../secrets/info/refs?service=git-upload-pack", 404, ""},
		{"GET", "/apps%2finfo/refs?service=git-upload-pack", 404, ""},
		{"GET", "/%61pps/info/refs?service=git-upload-pack", 404, ""},
		{"GET", "//info/refs?service=git-upload-pack", 404, ""},
		{"GET", "/apps/", 404, ""},
		{"GET", "/", 404, ""},
		{"GET", "/apps/HEAD", 404, ""},
		{"GET", "/apps/objects/info/packs", 404, ""},
		{"GET", "/apps/info/refs", 403, ""},
		{"GET", "/apps/info/refs?service=git-upload-pack&x=1", 403, ""},
		{"GET", "/apps/info/refs?service=git-receive-pack", 403, ""},
		{"POST", "/apps/git-receive-pack", 403, ""},
		{"POST", "/apps/git-upload-pack?x=1", 404, ""},
		{"POST", "/apps/info/refs?service=git-upload-pack", 405, ""},
		{"HEAD", "/apps/info/refs?service=git-upload-pack", 405, ""},
		{"GET", "/apps/git-upload-pack", 405, ""},
	} {
		reached = nil
		code, _ := s.do(t, s.request(t, tc.method, tc.path, nil))
		var want []string
		if tc.hub != "" {
			want = []string{tc.method + " " + prefix + tc.hub}
		}
		if diff := cmp.Diff(want, reached); diff != "" || code != tc.code {
			t.Errorf("%s %s: %d, want %d (-want +got):\n%s", tc.method, tc.path, code, tc.code, diff)
		}
	}
}

func TestPassword(t *testing.T) {
	asked := 0
	s := start(t, func(http.ResponseWriter, *http.Request) { asked++ })
	for title, edit := range map[string]func(*http.Request){
		"none":           func(r *http.Request) { r.Header.Del("Authorization") },
		"wrong password": func(r *http.Request) { r.SetBasicAuth(Username, password+"x") },
		"no password":    func(r *http.Request) { r.SetBasicAuth(Username, "") },
		"wrong user":     func(r *http.Request) { r.SetBasicAuth("admin", password) },
		"bearer":         func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+password) },
	} {
		r := s.request(t, http.MethodGet, "/apps/info/refs?service=git-upload-pack", nil)
		edit(r)
		resp, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d, %v", title, resp.StatusCode, resp.Header)
		}
	}
	if asked > 0 {
		t.Error("the hub was asked")
	}
	if (&identity{}).permits(Username, "") {
		t.Error("without keys, the empty password is accepted")
	}
}

func TestCredentialsDoNotPass(t *testing.T) {
	var got http.Header
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Audit-Id", "1")
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	})
	r := s.request(t, http.MethodGet, "/apps/info/refs?service=git-upload-pack", nil)
	for name, value := range map[string]string{
		"Cookie": "a=b", "X-Remote-User": "admin", "Impersonate-User": "admin", "X-Forwarded-For": "1.2.3.4", "Upgrade": "h2c",
		"Connection": "Upgrade", "Git-Protocol": "version=2", "Accept": "*/*",
	} {
		r.Header.Set(name, value)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got.Del("User-Agent")
	want := http.Header{"Git-Protocol": {"version=2"}, "Accept": {"*/*"}, "Accept-Encoding": {"identity"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the hub gets (-want +got):\n%s", diff)
	}
	if resp.Header.Get("Set-Cookie")+resp.Header.Get("Audit-Id") != "" || resp.Header.Get("Content-Type") == "" {
		t.Errorf("the client gets %v", resp.Header)
	}
}

// TestBodiesStream checks that the hub gets the beginning of a request before the end, and that the client gets the
// beginning of an answer before the end.
func TestBodiesStream(t *testing.T) {
	begun, ended, read := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		part := make([]byte, 5)
		if _, err := io.ReadFull(r.Body, part); err != nil || string(part) != "begin" {
			t.Errorf("the hub read %q, %v", part, err)
		}
		close(begun)
		rest, err := io.ReadAll(r.Body)
		if err != nil || string(rest) != "end" {
			t.Errorf("the hub read %q, %v", rest, err)
		}
		close(ended)
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		<-read
		_, _ = io.WriteString(w, "end")
	})
	reader, writer := io.Pipe()
	go func() {
		_, _ = io.WriteString(writer, "begin")
		<-begun
		_, _ = io.WriteString(writer, "end")
		_ = writer.Close()
	}()
	within(t, "the request", func() {
		resp, err := s.client.Do(s.request(t, http.MethodPost, "/apps/git-upload-pack", reader))
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		<-ended
		part := make([]byte, 5)
		if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != "begin" {
			t.Errorf("the client read %q, %v", part, err)
		}
		close(read)
		rest, err := io.ReadAll(resp.Body)
		if err != nil || string(rest) != "end" {
			t.Errorf("the client read %q, %v", rest, err)
		}
	})
}

// TestBrokenAnswer checks that a client sees the early end of an answer.
func TestBrokenAnswer(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	resp, err := s.client.Do(s.request(t, http.MethodPost, "/apps/git-upload-pack", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the client takes %q for the whole answer", text)
	}
}

func TestErrorsOfTheHubAreText(t *testing.T) {
	var code int
	var contentType, body string
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	})
	for _, tc := range []struct {
		code              int
		contentType, body string
		wantCode          int
		want              string
	}{
		{404, "application/json", `{"kind":"Status","message":"repositories \"apps\" not found"}`, 404, `repositories "apps" not found`},
		{404, "text/plain", "404 page not found\n", 404, "The hub could not find the requested resource: towline-source is not installed on the hub."},
		{403, "text/plain", "The repository is too large.", 403, "The repository is too large."},
		{403, "text/html", "<b>no</b>", 403, "Forbidden"},
		{401, "application/json", `{"kind":"Status","message":"Unauthorized"}`, 403, "The hub does not accept the identity of the agent."},
		{424, "text/plain", "The Git server refuses the credential.", 404, "The Git server refuses the credential."},
		{429, "text/plain", "Too many requests", 429, "Too many requests"},
		{500, "", "", 500, "Internal Server Error"},
		{503, "text/plain", "no endpoints", 502, "The source cannot be read from the hub: the hub answered 503: no endpoints"},
		{302, "", "", 502, "The hub answered with the unexpected code 302."},
	} {
		code, contentType, body = tc.code, tc.contentType, tc.body
		if got, text := s.references(t, "apps"); got != tc.wantCode || text != tc.want {
			t.Errorf("%d %s: %d %q", tc.code, tc.body, got, text)
		}
	}
}

func TestRequestsAtATime(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	s := start(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-answer
	}, func(p *Proxy) { p.slots, p.slotTimeout = make(chan struct{}, 2), 50*time.Millisecond })
	results := make(chan int, 2)
	for range 2 {
		go func() {
			code, _ := s.references(t, "apps")
			results <- code
		}()
		<-arrived
	}
	if code, text := s.references(t, "apps"); code != http.StatusServiceUnavailable {
		t.Errorf("a further request: %d %s", code, text)
	}
	close(answer)
	for range 2 {
		if code := <-results; code != http.StatusOK {
			t.Errorf("a request within the limit: %d", code)
		}
	}
	go func() { <-arrived }()
	if code, _ := s.references(t, "apps"); code != http.StatusOK {
		t.Errorf("a request after the end of the others: %d", code)
	}
}

func TestSizeOfARequest(t *testing.T) {
	var got atomic.Int64
	s := start(t, func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		got.Store(n)
	})
	zeros := func(n int64) io.Reader { return io.LimitReader(zero{}, n) }
	for title, tc := range map[string]struct {
		size    int64
		chunked bool
		code    int
	}{
		"largest":           {maxBody, false, 200},
		"too large":         {maxBody + 1, false, 413},
		"chunked":           {maxBody, true, 200},
		"chunked too large": {maxBody + 1, true, 413},
	} {
		r := s.request(t, http.MethodPost, "/apps/git-upload-pack", zeros(tc.size))
		if r.ContentLength = tc.size; tc.chunked {
			r.ContentLength = -1
		}
		got.Store(0)
		resp, err := s.client.Do(r)
		if err != nil {
			if tc.code == http.StatusOK {
				t.Errorf("%s: %v", title, err)
			}
			continue // the server closed the connection before the end of the body
		}
		resp.Body.Close()
		if resp.StatusCode != tc.code || tc.code == http.StatusOK && got.Load() != tc.size {
			t.Errorf("%s: %d, %d bytes", title, resp.StatusCode, got.Load())
		}
	}
}

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestLargeAnswer checks that a large answer about references arrives whole, and is not kept.
func TestLargeAnswer(t *testing.T) {
	large := append(bytes.Repeat([]byte("x"), maxAnswer), flush...)
	s := start(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(large) })
	if code, text := s.references(t, "apps"); code != 200 || text != string(large) {
		t.Errorf("%d, %d bytes", code, len(text))
	}
	s.hub.Close()
	if code, _ := s.references(t, "apps"); code != http.StatusBadGateway {
		t.Errorf("kept: %d", code)
	}
}

func TestKeptAnswersAreBounded(t *testing.T) {
	a := &answers{}
	of := func(i int) question { return question{repository: fmt.Sprint(i)} }
	for i := range maxAnswers + 10 {
		a.keep(of(i), "", []byte("0000"))
		a.get(of(0))
	}
	if len(a.kept) != maxAnswers || a.get(of(0)) == nil || a.get(of(1)) != nil {
		t.Errorf("%d answers are kept", len(a.kept))
	}
	for i := range 10 {
		a.keep(of(i), "", make([]byte, maxAnswer))
	}
	sum := 0
	for _, kept := range a.kept {
		sum += len(kept.body)
	}
	if sum > maxKept || sum != a.bytes || a.get(of(9)) == nil {
		t.Errorf("%d bytes are kept, and %d counted", sum, a.bytes)
	}
	a.keep(of(9), "", nil)
	a.forget("9")
	if a.get(of(9)) != nil {
		t.Error("not forgotten")
	}
}
