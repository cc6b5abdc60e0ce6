package ui

import (
	"context"
	"net/http"
	"strings"
)

// noToken is what is said to a request without a token.
const noToken = "This page reads the hub with your own rights, and the request has no token of yours. Open it through the proxy that signs " +
	"you in, and have the proxy pass the token on: see docs/status-page.md.\n"

type tokenKey struct{}

// Proxied guards a page behind a proxy that signs users in: each request needs the bearer token of its user.
func Proxied(next http.Handler) http.Handler {
	return secure(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := bearer(r)
		if token == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, noToken, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tokenKey{}, token)))
	}))
}

// Token is that of a request that Proxied has let through.
func Token(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)
	return token
}

// bearer is the token that the proxy passes on; empty for none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return r.Header.Get("X-Forwarded-Access-Token")
}
