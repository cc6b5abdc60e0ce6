package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// cookiePrefix begins the name of the cookie that replaces the one-time token. Browsers send cookies to all ports of a
// host. Therefore each run has its own cookie name.
const cookiePrefix = "towline-dashboard-"

// Local guards a page on the user's own machine, where other users and scripts of other sites can also reach the port.
type Local struct {
	// Hosts are the allowed values of the Host header. A different value means that a foreign name resolves to this
	// machine (DNS rebinding).
	Hosts []string

	mu      sync.Mutex
	token   string
	cookie  string
	session string
}

// NewLocal returns a guard with a new token.
func NewLocal(hosts ...string) *Local {
	return &Local{Hosts: hosts, token: rand.Text(), cookie: cookiePrefix + rand.Text()[:8], session: rand.Text()}
}

// Token returns the token that opens the page once.
func (l *Local) Token() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token
}

// Guard admits requests with the cookie, and gives the cookie in exchange for the token.
func (l *Local) Guard(next http.Handler) http.Handler {
	return secure(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(l.Hosts, r.Host) {
			http.Error(w, "This page answers to its own address only: open the address that the command has printed.", http.StatusMisdirectedRequest)
			return
		}
		if token := r.URL.Query().Get("token"); token != "" {
			l.exchange(w, r, token)
			return
		}
		if !l.known(r) {
			http.Error(w, "Open the address that `kubectl towline dashboard` has printed. Each address works once: "+
				"for a second browser, run the command again.",
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// exchange gives the cookie for the token. The token then becomes invalid.
func (l *Local) exchange(w http.ResponseWriter, r *http.Request, token string) {
	l.mu.Lock()
	good := l.token != "" && same(token, l.token)
	if good {
		l.token = ""
	}
	l.mu.Unlock()
	if !good && !l.known(r) {
		http.Error(w, "This address has been used already, or is of another run: run `kubectl towline dashboard` again.", http.StatusForbidden)
		return
	}
	if good {
		// The cookie is not Secure: the page is plain HTTP, and never leaves the machine.
		http.SetCookie(w, &http.Cookie{ //nolint:gosec // see above
			Name: l.cookie, Value: l.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
	}
	q := r.URL.Query()
	q.Del("token") // keep the token out of the browser's history
	to := url.URL{Path: "/", RawQuery: q.Encode()}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// known returns whether a request has the cookie.
func (l *Local) known(r *http.Request) bool {
	c, err := r.Cookie(l.cookie)
	return err == nil && same(c.Value, l.session)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
