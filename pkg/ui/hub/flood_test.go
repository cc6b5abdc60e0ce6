package hub

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/ui"
)

// atOnce opens the page with each token, eight at a time.
func atOnce(ctx context.Context, t *testing.T, server *httptest.Server, tokens []string) {
	t.Helper()
	var wg sync.WaitGroup
	next := make(chan string)
	for range 8 {
		wg.Go(func() {
			for token := range next {
				look(ctx, t, server.URL, token, "/?namespace=none")
			}
		})
	}
	for _, token := range tokens {
		next <- token
	}
	close(next)
	wg.Wait()
}

// tokensOf returns n tokens of a ServiceAccount.
func tokensOf(t *testing.T, namespace, name string, n int) (out []string) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for range n {
		request := &authenticationv1.TokenRequest{}
		if err := admin.SubResource("token").Create(t.Context(), account, request); err != nil {
			t.Fatal(err)
		}
		out = append(out, request.Status.Token)
	}
	return out
}

// tokensOfNew returns a token of each of n new ServiceAccounts in a namespace.
func tokensOfNew(t *testing.T, namespace string, n int) (out []string) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("account-%d", i)
		create(t.Context(), t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		out = append(out, tokensOf(t, namespace, name, 1)...)
	}
	return out
}

// TestTokensThatFillThePlaces checks that random tokens, many tokens of one user, and users of few namespaces do not
// exclude a different user.
func TestTokensThatFillThePlaces(t *testing.T) {
	tenant(t.Context(), t, "flood")
	other, _ := tenant(t.Context(), t, "flood-other")
	for title, tc := range map[string]struct {
		tokens func(*testing.T) []string
		most   int
	}{
		"random tokens": {func(*testing.T) (out []string) {
			for range maxPersons + 6 {
				out = append(out, rand.Text())
			}
			return out
		}, 0},
		"tokens of one user": {func(t *testing.T) []string {
			t.Helper()
			return tokensOf(t, "flood", "reader", maxPersons+6)
		}, maxTokens},
		"ServiceAccounts of one namespace": {func(t *testing.T) []string {
			t.Helper()
			return tokensOfNew(t, "flood", maxPersons+6)
		}, maxTokens},
		"ServiceAccounts of many namespaces": {func(t *testing.T) (out []string) {
			t.Helper()
			for i := range maxPersons / maxTokens {
				namespace := fmt.Sprintf("flood-%d", i)
				create(t.Context(), t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
				out = append(out, tokensOfNew(t, namespace, maxTokens)...)
			}
			return out
		}, maxPersons},
	} {
		t.Run(title, func(t *testing.T) {
			ctx := t.Context()
			source := NewTokens(ctx, config, Flags{})
			server := httptest.NewServer(ui.Proxied(ui.TokenHeader, ui.Handler(source)))
			defer server.Close()
			atOnce(ctx, t, server, tc.tokens(t))
			if n := len(source.persons); n > tc.most {
				t.Errorf("%d places are taken", n)
			}
			if code, body := look(ctx, t, server.URL, other, "/?namespace=flood-other"); code != http.StatusOK {
				t.Errorf("another user gets %d: %s", code, body)
			}
		})
	}
}
