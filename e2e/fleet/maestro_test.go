package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/towline-io/towline/e2e/fleet"
)

// workID is the id of the test's work. The source of a work chooses its id.
const workID = "6f8f7d0a-54f2-4b7e-9d0b-0a8e6f6d3c11"

// watched is a bundle with a ConfigMap. The agent reports a value of the ConfigMap when the value changes. The strategy
// CreateOnly prevents the agent from reverting the test's changes on the cluster.
const watched = `{
  "manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "sent"}, "data": {"word": "first"}}],
  "manifestConfigs": [{
    "resourceIdentifier": {"resource": "configmaps", "namespace": "default", "name": "sent"},
    "updateStrategy": {"type": "CreateOnly"},
    "feedbackScrapeType": "Watch",
    "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "word", "path": ".data.word"}]}]
  }]
}`

// TestMaestro sends a work through Maestro, and checks the objects on the cluster and the feedback in Maestro. The
// agent's poll interval is an hour. Feedback about a change therefore proves that feedbackScrapeType has arrived.
func TestMaestro(t *testing.T) {
	if os.Getenv("TOWLINE_MAESTRO_TEST") == "" {
		t.Skip("set TOWLINE_MAESTRO_TEST=1 to start a fleet with Maestro")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	f, err := fleet.Start(ctx, fleet.Options{
		Dir: filepath.Join(t.TempDir(), "fleet"), Clusters: fleet.ClusterNames(1), ArgoCD: []string{"2.14"},
		Transport: fleet.TransportMaestro, Progress: os.Stderr,
		ExtraArgs: map[string][]string{"work-agent": {"--status-sync-interval=1h"}},
	})
	check(t, err)
	defer f.Stop()
	cluster := f.Cluster("cluster1")

	publish(ctx, t, f, "create", watched)
	eventually(ctx, t, &cluster.ControlPlane, "first", "get", "configmap", "sent", "-o", "jsonpath={.data.word}")
	fedBack(ctx, t, f, "first")

	_, err = cluster.Kubectl(ctx, "patch", "configmap", "sent", "--type=merge", "-p", `{"data": {"word": "second"}}`)
	check(t, err)
	began := time.Now()
	fedBack(ctx, t, f, "second")
	t.Logf("feedback was in Maestro %s after the change", time.Since(began).Round(time.Millisecond))

	check(t, f.Hub.StopProcess(ctx, "maestro"))
	check(t, f.Hub.StopProcess(ctx, "postgres"))
	check(t, f.Hub.StartProcess(ctx, "postgres"))
	check(t, f.Hub.StartProcess(ctx, "maestro"))
	fedBack(ctx, t, f, "second")

	publish(ctx, t, f, "delete", "{}")
	eventually(ctx, t, &cluster.ControlPlane, "", "get", "configmap", "sent", "--ignore-not-found", "-o", "name")
	feedback(ctx, t, f, "the work is there still", func(status int, _ string) bool { return status == http.StatusNotFound })
}

// publish sends a request to Maestro with the fleet's source.
func publish(ctx context.Context, t *testing.T, f *fleet.Fleet, action, bundle string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, f.Program("maestro-source"), "-server="+f.Hub.MaestroGRPC(), "-action="+action,
		"-cluster=cluster1", "-id="+workID, "-name=sent")
	cmd.Stdin = strings.NewReader(bundle)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", action, err, out)
	}
}

// fedBack waits until Maestro has a value from the cluster.
func fedBack(ctx context.Context, t *testing.T, f *fleet.Fleet, word string) {
	t.Helper()
	want := fmt.Sprintf(`"string":%q`, word)
	feedback(ctx, t, f, want+" does not come", func(_ int, status string) bool { return strings.Contains(status, want) })
}

// feedback reads the status of the work in Maestro until the status is as wanted.
func feedback(ctx context.Context, t *testing.T, f *fleet.Fleet, otherwise string, wanted func(code int, status string) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var last string
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		code, status, err := statusOfWork(ctx, f)
		if err == nil && wanted(code, status) {
			return
		}
		if err == nil {
			last = fmt.Sprintf("%d %s", code, status)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %s, %v", otherwise, last, err)
		case <-ticker.C:
		}
	}
}

func statusOfWork(ctx context.Context, f *fleet.Fleet) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.Hub.MaestroURL()+"/resource-bundles/"+workID, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	var bundle struct{ Status json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&bundle); err != nil {
		return 0, "", err
	}
	var status bytes.Buffer
	if len(bundle.Status) > 0 {
		err = json.Compact(&status, bundle.Status)
	}
	return response.StatusCode, status.String(), err
}
