package sourceproxy

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/towline-io/towline/pkg/pace"
)

// TestSlowClients: a client that hardly sends or reads loses its place.
func TestSlowClients(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			_, _ = io.Copy(w, zero{}) // until the end of the request
		}
	}, func(p *Proxy) {
		p.slots, p.slotTimeout, p.pace = make(chan struct{}, 1), time.Minute, pace.Pace{Patience: 300 * time.Millisecond, Rate: 1 << 20}
	})
	out, in := io.Pipe()
	go func() {
		for {
			if _, err := in.Write([]byte("0")); err != nil {
				return
			}
			<-time.After(10 * time.Millisecond)
		}
	}()
	for title, body := range map[string]io.Reader{"the client drips": out, "the client does not read": nil} {
		go func() {
			resp, err := s.client.Do(s.request(t, http.MethodPost, "/apps/git-upload-pack", body))
			if err == nil {
				<-t.Context().Done()
				resp.Body.Close()
			}
		}()
		within(t, title, func() {
			for len(s.slots) == 0 { // until the client has its place
				<-time.After(time.Millisecond)
			}
			if code, text := s.references(t, "apps"); code != http.StatusOK {
				t.Errorf("%s: the next request gets %d %s", title, code, text)
			}
		})
	}
}
