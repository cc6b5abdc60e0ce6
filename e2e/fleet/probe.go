package fleet

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A probe returns nil when a process is ready.
type probe func(ctx context.Context) error

var probeClient = &http.Client{
	Timeout: 2 * time.Second,
	Transport: &http.Transport{
		DisableKeepAlives: true,
		// The probe only checks readiness, of a server that this process has just started.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	},
}

// httpProbe is ready when a GET answers 200.
func httpProbe(url string) probe {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := probeClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(response.Body, 512))
			return fmt.Errorf("%s answered %s: %s", url, response.Status, body)
		}
		return nil
	}
}
