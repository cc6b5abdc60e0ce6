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
	// floodWorkers is the number of parallel requests of a flood.
	floodWorkers = 8

	// floodDelay is how much longer than four times the usual time a bystander's change, and the answer to the change,
	// may take during a flood. The compared times are medians. With a single queue, a change behind a flood of
	// thousands would wait for the whole flood.
	floodDelay = 5 * time.Second

	// floodMemory is the allowed growth of the process' memory during a flood, in bytes. The floods write a multiple of
	// it.
	floodMemory = 96 << 20
)

// flood sends floodWorkers requests in parallel, without a pause, until end is called and at least atLeast requests are
// sent. end returns the number of sent requests. No request may fail.
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
				if err := request(ctx, i); err != nil && !apierrors.IsConflict(err) { // Towline also notices a conflicting request
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

// metricsReader lets an account read Towline's metrics until the container ends. It returns a client with the account's
// token.
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

// pressure is the number of Towline's requests to the hub up to a time, and Towline's resident memory in bytes.
type pressure struct {
	at       time.Time
	requests float64
	resident float64
}

func pressureOn(ctx context.Context, reader *http.Client) (pressure, error) {
	families, err := scrape.Metrics(ctx, reader, tow.Metrics+"/metrics")
	return pressure{time.Now(), families.Sum("rest_client_requests_total"), families.Sum("process_resident_memory_bytes")}, err
}

// goesOn changes an Application of another tenant and requests a refresh, times times in succession. It returns the
// medians of the time until the change is on the cluster, and until the answer is on the hub.
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

// bounds are the limits of a flood.
type bounds struct {
	// atLeast is the minimum number of the flood's requests.
	atLeast int64

	// perRequest is the allowed number of Towline's requests for each request of the flood. Requests for the bystander
	// and regular requests are allowed in addition.
	perRequest float64

	// meanwhile is called during the flood. It may be nil.
	meanwhile func()
}

// withstand runs a flood and checks three limits. The bystander's changes and their answers take not much longer than
// usual. Towline sends no more requests to the hub than the bounds allow. Towline's memory does not grow by more than
// floodMemory.
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
	if maestro != nil { // Maestro sends all works in a single queue: a change has waited for 6.8 s on a busy machine
		delay *= 3
	}
	Expect(there).To(BeNumerically("<", delay+4*quietThere), "a bystander's change to its cluster")
	Expect(back).To(BeNumerically("<", delay+4*quietBack), "its cluster's answer")
	Expect(asked).To(BeNumerically("<", within.perRequest*float64(sent)+20*lasted+100), "requests of Towline for %d of the flood", sent)
	Eventually(ctx, func(ctx context.Context) (float64, error) { // the process returns unused memory after a while
		now, err := pressureOn(ctx, x.reader)
		return now.resident - before.resident, err
	}).Should(BeNumerically("<", floodMemory))
}

// insecure returns a client for processes with self-signed certificates.
func insecure(t *http.Transport) *http.Client {
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return &http.Client{Transport: t}
}

// get returns the HTTP status of a GET with a bearer token.
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
	_, err = io.Copy(io.Discard, resp.Body) // to reuse the connection
	return resp.StatusCode, err
}
