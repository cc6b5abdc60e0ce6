package search_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/search"
	"github.com/towline-io/towline/pkg/search/searchtest"
)

var (
	wanted    = []search.Key{{Cluster: "cluster1", Namespace: "argocd", Name: "guestbook"}}
	guestbook = searchtest.Application("cluster1", "argocd", "guestbook")
)

// fill adds the objects of the tests to the server.
func fill(s *searchtest.Server) {
	s.Put(guestbook, searchtest.Resource(guestbook, "apps", "v1", "Deployment", "guestbook", "guestbook-ui"))
}

// ask expects an answer.
func ask(t *testing.T, c *search.Client) *search.Answer {
	t.Helper()
	answer, err := c.Query(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// refused expects a failure of the given kind, checks that the message has no token, and returns the message.
func refused(t *testing.T, c *search.Client, want search.Reason) string {
	t.Helper()
	_, err := c.Query(t.Context(), wanted)
	var failure *search.Error
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if failure.Reason != want {
		t.Errorf("got %s: %v, want %s", failure.Reason, err, want)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, failure), searchtest.Token) {
		t.Errorf("the token is in the error: %v", err)
	}
	return err.Error()
}

func TestAsk(t *testing.T) {
	s := searchtest.New(t)
	fill(s)
	s.Put(searchtest.Application("cluster1", "argocd", "not-ours"), searchtest.Application("cluster2", "argocd", "guestbook"))
	got := ask(t, search.New(s.Config()))
	want := &search.Answer{Applications: map[search.Key]*search.Application{wanted[0]: {
		Resources: []argocd.ResourceStatus{{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "guestbook", Name: "guestbook-ui"}},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"cluster1"}}, s.Queried()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAskForClustersOnce(t *testing.T) {
	s := searchtest.New(t)
	keys := []search.Key{{Cluster: "b", Namespace: "x", Name: "1"}, {Cluster: "a", Namespace: "x", Name: "1"}, {Cluster: "b", Namespace: "x", Name: "2"}}
	if _, err := search.New(s.Config()).Query(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"a", "b"}}, s.Queried()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPatternsAreRefused checks that patterns are refused as names: in a filter, "*" would mean all clusters of the
// hub.
func TestPatternsAreRefused(t *testing.T) {
	s := searchtest.New(t)
	for _, name := range []string{"*", "!cluster1", ">a", "cluster1*", "", "a\nb"} {
		if _, err := search.New(s.Config()).Query(t.Context(), []search.Key{{Cluster: name, Namespace: "x", Name: "y"}}); err == nil {
			t.Errorf("%q was asked for", name)
		}
	}
	if asked := s.Queried(); len(asked) > 0 {
		t.Errorf("requests were sent: %q", asked)
	}
}

func TestTokenIsReadAgain(t *testing.T) {
	s := searchtest.New(t)
	fill(s)
	c := search.New(s.Config())
	ask(t, c)
	s.RotateToken("another-token")
	ask(t, c)
}

func TestCAIsReadAgain(t *testing.T) {
	s := searchtest.New(t)
	fill(s)
	c := search.New(s.Config())
	ask(t, c)
	ca := s.RotateCA()
	refused(t, c, search.Untrusted)
	s.TrustCA([]byte("half a certif"))
	refused(t, c, search.Untrusted)
	s.TrustCA(ca)
	ask(t, c)
	s.TrustCA(nil)
	ask(t, c)
}

func TestUnknownAuthority(t *testing.T) {
	s := searchtest.New(t)
	config := s.Config()
	config.CAFile = "" // use the certificate authorities of the system
	refused(t, search.New(config), search.Untrusted)
	if asked := s.Queried(); len(asked) > 0 {
		t.Error("a request went to a server that is not trusted")
	}
}

func TestUnconfigured(t *testing.T) {
	s := searchtest.New(t)
	dir := t.TempDir()
	empty, broken, long := filepath.Join(dir, "empty"), filepath.Join(dir, "broken"), filepath.Join(dir, "long")
	for file, data := range map[string]string{empty: "\n", broken: searchtest.Token + "\n" + searchtest.Token, long: strings.Repeat("x", 1<<17)} {
		if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for title, tc := range map[string]struct {
		change func(*search.Config)
		says   string
	}{
		"no token file":      {func(c *search.Config) { c.TokenFile = "/does/not/exist" }, "token file: open /does/not/exist"},
		"an empty token":     {func(c *search.Config) { c.TokenFile = empty }, "holds no token"},
		"two tokens":         {func(c *search.Config) { c.TokenFile = broken }, "holds no token"},
		"an endless token":   {func(c *search.Config) { c.TokenFile = long }, "longer than"},
		"no CA file":         {func(c *search.Config) { c.CAFile = "/does/not/exist" }, "CA file: open /does/not/exist"},
		"no certificate":     {func(c *search.Config) { c.CAFile = empty }, "holds no certificate"},
		"no address":         {func(c *search.Config) { c.URL = search.Fixed("") }, "https://"},
		"no TLS":             {func(c *search.Config) { c.URL = search.Fixed("http://search") }, "https://"},
		"a token in the URL": {func(c *search.Config) { c.URL = search.Fixed("https://x:" + searchtest.Token + "@search") }, "must not have"},
		"nowhere": {func(c *search.Config) {
			c.URL = func(context.Context) (string, error) { return "", errors.New("no MultiClusterHub") }
		}, "no MultiClusterHub"},
	} {
		t.Run(title, func(t *testing.T) {
			config := s.Config()
			tc.change(&config)
			if got := refused(t, search.New(config), search.Unconfigured); !strings.Contains(got, tc.says) {
				t.Errorf("got %q, want %q", got, tc.says)
			}
		})
	}
}

// respond answers every request with the given code and text.
func respond(code int, text string) searchtest.Interference {
	return func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
		w.WriteHeader(code)
		fmt.Fprint(w, text)
		return true
	}
}

// TestFailuresOfTheService checks that every failure of the service gives an error of the right kind. The error never
// contains the token, even if the service sends the token back.
func TestFailuresOfTheService(t *testing.T) {
	token := searchtest.Token
	for title, tc := range map[string]struct {
		interfere searchtest.Interference
		want      search.Reason
		says      string
	}{
		"unauthorized":     {respond(401, "who are you, "+token), search.Unauthorized, "who are you, [token]"},
		"forbidden":        {respond(403, `{"message":"Invalid token"}`), search.Unauthorized, "Invalid token"},
		"an error page":    {respond(502, "\x1b[2J<html>"+token), search.Status, "502 Bad Gateway"},
		"a long page":      {respond(500, strings.Repeat("x", 460)+token+strings.Repeat("y", 1<<20)), search.Status, "…"},
		"no JSON":          {respond(200, token), search.Invalid, "does not fit"},
		"half of the JSON": {respond(200, `{"data":{"searchResult":[{"items":[{`), search.Invalid, "does not fit"},
		"nothing":          {respond(200, ``), search.Invalid, "does not fit"},
		"null":             {respond(200, `null`), search.Invalid, "no search result"},
		"no data":          {respond(200, `{"data":null}`), search.Invalid, "no search result"},
		"no result":        {respond(200, `{"data":{"searchResult":[]}}`), search.Invalid, "no search result"},
		"a null result":    {respond(200, `{"data":{"searchResult":[null]}}`), search.Invalid, "no search result"},
		"a wrong type":     {respond(200, `{"data":{"searchResult":[{"items":"`+token+`"}]}}`), search.Invalid, "does not fit"},
		"too few items":    {respond(200, `{"data":{"searchResult":[{"items":[],"count":3}]}}`), search.Invalid, "0 of 3"},
		"a broken group":   {respond(200, `{"data":{"searchResult":[{"items":[],"related":["x"]}]}}`), search.Invalid, "not whole"},
		"too few related": {respond(200, `{"data":{"searchResult":[{"items":[],"related":[{"kind":"Service","count":2,"items":[{}]}]}]}}`),
			search.Invalid, "not whole"},
		"errors": {respond(200, `{"errors":[{"message":"database `+token+`"}],"data":null}`), search.Failed, "database [token]"},
		"errors with data": {respond(200, `{"errors":[{"message":"partial"}],"data":{"searchResult":[{"items":[],"count":0,"related":[]}]}}`),
			search.Failed, "partial"},
		"a hung-up": {func(http.ResponseWriter, *http.Request, []string) bool { panic(http.ErrAbortHandler) }, search.Unreachable, ""},
		"too long":  {respond(200, `{"data":{"searchResult":[{"items":[`+strings.Repeat(" ", 1<<20)+`]}]}}`), search.TooLarge, "longer than 1048576 bytes"},
	} {
		t.Run(title, func(t *testing.T) {
			s := searchtest.New(t)
			s.Interfere(tc.interfere)
			config := s.Config()
			config.MaxBytes = 1 << 20
			got := refused(t, search.New(config), tc.want)
			if !strings.Contains(got, tc.says) || len(got) > 600 || strings.Contains(got, "\x1b") || strings.Contains(got, token[:8]) {
				t.Errorf("got %q, want %q", got, tc.says)
			}
		})
	}
}

func TestSlow(t *testing.T) {
	s := searchtest.New(t)
	s.Interfere(func(w http.ResponseWriter, r *http.Request, _ []string) bool {
		fmt.Fprint(w, `{"data":`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // abort, so that the answer has no regular end
	})
	config := s.Config()
	config.Timeout = 50 * time.Millisecond
	refused(t, search.New(config), search.Timeout)
}

func TestUnreachable(t *testing.T) {
	config := searchtest.New(t).Config()
	config.URL = search.Fixed("https://127.0.0.1:1")
	refused(t, search.New(config), search.Unreachable)
}

// TestRedirects checks that only the configured address gets the token. A different path of the same address does not
// get the token either.
func TestRedirects(t *testing.T) {
	var stolen []string
	thief := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stolen = append(stolen, r.Header.Get("Authorization"))
	}))
	defer thief.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{thief.URL, "/elsewhere", "http://localhost/"} {
			s := searchtest.New(t)
			s.Interfere(func(w http.ResponseWriter, r *http.Request, _ []string) bool {
				http.Redirect(w, r, to, code)
				return true
			})
			refused(t, search.New(s.Config()), search.Status)
			if asked := s.Queried(); len(asked) != 1 {
				t.Errorf("%d to %s was followed", code, to)
			}
		}
	}
	if len(stolen) > 0 {
		t.Errorf("redirects were followed: %q", stolen)
	}
}

// TestOwnTransport checks that the client does not affect other parts of the program.
func TestOwnTransport(t *testing.T) {
	s := searchtest.New(t)
	fill(s)
	ask(t, search.New(s.Config()))
	if http.DefaultClient.Transport != nil {
		t.Error("http.DefaultClient has another transport")
	}
	if c := http.DefaultTransport.(*http.Transport).TLSClientConfig; c != nil && (c.RootCAs != nil || c.InsecureSkipVerify) {
		t.Error("http.DefaultTransport trusts others than before")
	}
}

func TestReasonsAreComplete(t *testing.T) {
	if sorted := slices.Sorted(slices.Values(search.Reasons)); len(slices.Compact(sorted)) != 9 {
		t.Errorf("got %v", search.Reasons)
	}
}
