package ui

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const host = "127.0.0.1:4321"

func ask(t *testing.T, h http.Handler, address string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+address, nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// baked returns the cookie set by a response.
func baked(t *testing.T, w *httptest.ResponseRecorder) *http.Cookie {
	t.Helper()
	c, err := http.ParseSetCookie(w.Header().Get("Set-Cookie"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLocal checks that the token works once, gives a cookie hidden from scripts, and disappears from the address.
func TestLocal(t *testing.T) {
	guard := NewLocal(host)
	h, token := guard.Guard(Handler(small())), guard.Token()
	if r := ask(t, h, "/", nil); r.Code != http.StatusForbidden {
		t.Error("without a cookie:", r.Code)
	}
	if r := ask(t, h, "/?token=wrong", nil); r.Code != http.StatusForbidden || r.Header().Get("Set-Cookie") != "" {
		t.Error("with a wrong token:", r.Code)
	}
	r := ask(t, h, "/?namespace=a&token="+token, nil)
	if r.Code != http.StatusSeeOther || r.Header().Get("Location") != "/?namespace=a" {
		t.Fatal("with the token:", r.Code, r.Header())
	}
	c := baked(t, r)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, token) {
		t.Error(c)
	}
	with := func(r *http.Request) { r.AddCookie(c) }
	if r := ask(t, h, "/", with); r.Code != http.StatusOK {
		t.Error("with the cookie:", r.Code)
	}
	if r := ask(t, h, "/?token="+token, nil); r.Code != http.StatusForbidden {
		t.Error("the token works again:", r.Code)
	}
	if r := ask(t, h, "//evil.example/?token="+token, with); r.Header().Get("Location") != "/" {
		t.Error("leads elsewhere:", r.Header())
	}
}

// TestHost checks that a foreign host name shows no page, even with the cookie.
func TestHost(t *testing.T) {
	guard := NewLocal(host)
	h := guard.Guard(Handler(small()))
	c := baked(t, ask(t, h, "/?token="+guard.Token(), nil))
	for _, other := range []string{"evil.example", "evil.example:4321", "127.0.0.1", "127.0.0.1:80", ""} {
		r := ask(t, h, "/", func(r *http.Request) { r.AddCookie(c); r.Host = other })
		if r.Code != http.StatusMisdirectedRequest {
			t.Errorf("%q: %d", other, r.Code)
		}
	}
}

// TestProxied checks that a request without a token gets no page, and that only the request's own token is used.
func TestProxied(t *testing.T) {
	const forwarded = "X-Forwarded-Access-Token"
	for title, tc := range map[string]struct {
		named   string
		headers []string // names and values
		want    string
	}{
		"none":                          {TokenHeader, []string{"X", "y"}, ""},
		"basic":                         {TokenHeader, []string{"Authorization", "Basic abc"}, ""},
		"bearer":                        {TokenHeader, []string{"Authorization", "Bearer abc"}, "abc"},
		"small letters":                 {TokenHeader, []string{"Authorization", "bearer abc"}, "abc"},
		"without the scheme":            {TokenHeader, []string{"Authorization", "abc"}, ""},
		"another header":                {TokenHeader, []string{forwarded, "abc"}, ""},
		"forwarded":                     {forwarded, []string{forwarded, "abc"}, "abc"},
		"forwarded with a scheme":       {forwarded, []string{forwarded, "Bearer abc"}, "abc"},
		"forwarded, and the client's":   {forwarded, []string{"Authorization", "Bearer evil", forwarded, "abc"}, "abc"},
		"the client's alone":            {forwarded, []string{"Authorization", "Bearer evil"}, ""},
		"the client's beside the named": {forwarded, []string{forwarded, "evil", forwarded, "abc"}, ""},
	} {
		got := ""
		h := Proxied(tc.named, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = Token(r.Context()) }))
		r := ask(t, h, "/", func(r *http.Request) {
			for i := 0; i < len(tc.headers); i += 2 {
				r.Header.Add(tc.headers[i], tc.headers[i+1])
			}
		})
		code := http.StatusOK
		if tc.want == "" {
			code = http.StatusUnauthorized
		}
		if r.Code != code || got != tc.want {
			t.Errorf("%s: %d, %q", title, r.Code, got)
		}
	}
}
