package hub

import (
	"context"
	"crypto/rand"
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

// TestTokensThatFillThePlaces checks that neither random tokens nor many tokens of one user exclude a different user.
func TestTokensThatFillThePlaces(t *testing.T) {
	tenant(t.Context(), t, "flood")
	other, _ := tenant(t.Context(), t, "flood-other")
	for title, tokens := range map[string]func(*testing.T) []string{
		"random tokens": func(*testing.T) (out []string) {
			for range maxPersons + 6 {
				out = append(out, rand.Text())
			}
			return out
		},
		"tokens of one user": func(t *testing.T) (out []string) {
			t.Helper()
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "flood", Name: "reader"}}
			for range maxPersons + 6 {
				request := &authenticationv1.TokenRequest{}
				if err := admin.SubResource("token").Create(t.Context(), account, request); err != nil {
					t.Fatal(err)
				}
				out = append(out, request.Status.Token)
			}
			return out
		},
	} {
		t.Run(title, func(t *testing.T) {
			ctx := t.Context()
			source := NewTokens(ctx, config, Flags{})
			server := httptest.NewServer(ui.Proxied(ui.TokenHeader, ui.Handler(source)))
			defer server.Close()
			atOnce(ctx, t, server, tokens(t))
			if n := len(source.persons); n > maxTokens {
				t.Errorf("%d places are taken", n)
			}
			if code, body := look(ctx, t, server.URL, other, "/?namespace=flood-other"); code != http.StatusOK {
				t.Errorf("another user gets %d: %s", code, body)
			}
		})
	}
}
