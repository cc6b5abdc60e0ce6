package suite

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	bearer "k8s.io/client-go/transport"

	"github.com/towline-io/towline/e2e/scrape"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

const (
	// floodWorkers is how many requests of a flood are on their way at a time.
	floodWorkers = 8

	// floodDelay is what somebody else's change, and the answer to it, may take beyond four times the usual while a flood goes on: the
	// median of several. Behind a flood of thousands in one queue either would take its whole length.
	floodDelay = 5 * time.Second

	// floodMemory is by how much the process may have grown after a flood. What the floods write is many times that.
	floodMemory = 96 << 20
)

// flood sends requests as fast as they are answered, several at a time, until it is ended, and so many at least. The end gives how
// many were sent. None may fail.
func flood(ctx context.Context, atLeast int64, request func(ctx context.Context, i int64) error) (end func() int64) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(ctx)
	var sent, failed atomic.Int64
	var ended atomic.Bool
	var first sync.Once
	var failure error
	var all sync.WaitGroup
	for range floodWorkers {
		all.Go(func() {
			for ctx.Err() == nil {
				i := sent.Add(1)
				if ended.Load() && i > atLeast || failed.Load() > 0 {
					sent.Add(-1)
					return
				}
				if err := request(ctx, i); err != nil && !apierrors.IsConflict(err) { // who comes second is heard all the same
					failed.Add(1)
					first.Do(func() { failure = fmt.Errorf("request %d: %w", i, err) })
				}
			}
		})
	}
	DeferCleanup(func() {
		cancel()
		all.Wait()
	})
	return func() int64 {
		GinkgoHelper()
		ended.Store(true)
		all.Wait()
		Expect(failure).NotTo(HaveOccurred())
		return sent.Load()
	}
}

// metricsReader lets an account read Towline's metrics until the container ends, and gives the client that does.
func metricsReader(ctx context.Context, account string) *http.Client {
	GinkgoHelper()
	token := tokenOf(ctx, account)
	bind(ctx, account, metricsRole)
	c := insecure(&http.Transport{DisableKeepAlives: true})
	c.Transport = bearer.NewBearerAuthRoundTripper(token, c.Transport)
	Eventually(ctx, func(ctx context.Context) error {
		_, err := scrape.Metrics(ctx, c, tow.Metrics+"/metrics")
		return err
	}).Should(Succeed())
	return c
}

// pressure is what Towline had asked of the hub at a moment, and how much memory it had.
type pressure struct {
	at       time.Time
	requests float64
	resident float64
}

func pressureOn(ctx context.Context, reader *http.Client) (pressure, error) {
	families, err := scrape.Metrics(ctx, reader, tow.Metrics+"/metrics")
	return pressure{time.Now(), families.Sum("rest_client_requests_total"), families.Sum("process_resident_memory_bytes")}, err
}

// goesOn changes another tenant's Application and asks for a refresh of it, so many times one after the other, and gives how long the
// changes took to the cluster, and the answers to the hub.
func goesOn(ctx context.Context, app *argocd.Application, on string, times int) (there, back time.Duration) {
	GinkgoHelper()
	var arrived, answered []time.Duration
	for i := range times {
		word, began := fmt.Sprintf("%d-%d", time.Now().UnixNano(), i), time.Now()
		patchHub(ctx, app.Name, fmt.Sprintf(`{"metadata":{"annotations":{"note":%q,"argocd.argoproj.io/refresh":"normal"}}}`, word))
		Eventually(ctx, read(cluster[on], app)).WithPolling(10 * time.Millisecond).Should(HaveField("Annotations", HaveKeyWithValue("note", word)))
		arrived = append(arrived, time.Since(began))
		Eventually(ctx, read(hub, app)).WithPolling(10 * time.Millisecond).Should(HaveField("Annotations", Not(HaveKey("argocd.argoproj.io/refresh"))))
		answered = append(answered, time.Since(began))
	}
	slices.Sort(arrived)
	slices.Sort(answered)
	return arrived[times/2], answered[times/2]
}

// bounds are those of a flood.
type bounds struct {
	// atLeast is how many requests it has.
	atLeast int64

	// perRequest is how many requests of its own Towline may make for each, besides what it makes for the bystander and in any case.
	perRequest float64

	// meanwhile is called while the flood goes on; nil for nothing.
	meanwhile func()
}

// withstand runs a flood, and expects that meanwhile the bystander's changes and their answers take not much longer than usual, that
// Towline asks no more of the hub than the bounds allow, and that its memory grows no further than floodMemory.
func (x *flooding) withstand(ctx context.Context, within bounds, request func(context.Context, int64) error) {
	GinkgoHelper()
	const on, changes = "cluster2", 5
	quietThere, quietBack := goesOn(ctx, x.bystander, on, changes)
	before, err := pressureOn(ctx, x.reader)
	Expect(err).NotTo(HaveOccurred())
	end := flood(ctx, within.atLeast, request)
	there, back := goesOn(ctx, x.bystander, on, changes)
	if within.meanwhile != nil {
		within.meanwhile()
	}
	sent := end()
	after, err := pressureOn(ctx, x.reader)
	Expect(err).NotTo(HaveOccurred())

	lasted, asked := after.at.Sub(before.at).Seconds(), after.requests-before.requests
	AddReportEntry(fmt.Sprintf("a flood of %d requests in %.1f s (%.0f/s): Towline sent %.0f (%.0f/s); a bystander's change took %d ms to its "+
		"cluster (%d ms before), and the answer %d ms (%d ms before); %.0f MiB of memory (%.0f MiB before)",
		sent, lasted, float64(sent)/lasted, asked, asked/lasted, there.Milliseconds(), quietThere.Milliseconds(),
		back.Milliseconds(), quietBack.Milliseconds(), after.resident/(1<<20), before.resident/(1<<20)))
	delay := floodDelay
	if maestro != nil { // which sends one work after the other, whoever they are of: a change has waited for 6.8 s on a busy machine
		delay *= 3
	}
	Expect(there).To(BeNumerically("<", delay+4*quietThere), "a bystander's change to its cluster")
	Expect(back).To(BeNumerically("<", delay+4*quietBack), "its cluster's answer")
	Expect(asked).To(BeNumerically("<", within.perRequest*float64(sent)+20*lasted+100), "requests of Towline for %d of the flood", sent)
	Eventually(ctx, func(ctx context.Context) (float64, error) { // what it does not need any more goes back in its own time
		now, err := pressureOn(ctx, x.reader)
		return now.resident - before.resident, err
	}).Should(BeNumerically("<", floodMemory))
}

// insecure is a client of processes that have signed their certificates themselves.
func insecure(t *http.Transport) *http.Client {
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return &http.Client{Transport: t}
}

// get is the status of a GET with a bearer token.
func get(ctx context.Context, c *http.Client, url, token string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
	return resp.StatusCode, err
}
