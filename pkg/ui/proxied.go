package ui

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// TokenHeader is the header of a proxy's tokens, unless the operator names a different header.
const TokenHeader = "Authorization"

// noToken is the answer to a request without a token.
const noToken = "This page reads the hub with your own rights, and the request has no token of yours in the header %s. Open the page through " +
	"the proxy that signs you in, and have the proxy pass the token on: see docs/status-page.md.\n"

type tokenKey struct{}

// Proxied guards a page behind a proxy that signs users in. Each request needs the bearer token of its user in the
// given header. Other headers do not count, because the proxy overwrites only this header, and a client may send all
// others.
func Proxied(header string, next http.Handler) http.Handler {
	return secure(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := bearer(r, header)
		if token == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, fmt.Sprintf(noToken, header), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tokenKey{}, token)))
	}))
}

// Token returns the token of a request admitted by Proxied.
func Token(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)
	return token
}

// bearer returns the token in a header; empty for no token. A repeated header has no token, because a client may have
// sent one of the two.
func bearer(r *http.Request, header string) string {
	values := r.Header.Values(header)
	if len(values) != 1 {
		return ""
	}
	scheme, token, found := strings.Cut(strings.TrimSpace(values[0]), " ")
	switch {
	case found && strings.EqualFold(scheme, "Bearer"):
		return strings.TrimSpace(token)
	case !found && !strings.EqualFold(header, TokenHeader):
		return scheme
	}
	return ""
}
