package appreport

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/history"
)

// Build is the report on a cluster's Application as it was seen at that time, with those live resources of it, and without metadata of
// its own.
func Build(app *argocd.Application, seen time.Time, live ...v1alpha1.TreeNode) *v1alpha1.ApplicationReport {
	status := app.Status.DeepCopy()
	history.Stamp(status.History)
	clean(status)
	r := &v1alpha1.ApplicationReport{
		Application: v1alpha1.ReportedApplication{
			Namespace: app.Namespace, Name: app.Name, UID: string(app.UID), ResourceVersion: app.ResourceVersion,
		},
		ObservedAt: seen.UTC().Format(time.RFC3339),
	}
	r.Unreadable = status.Unreadable
	r.Tree, _ = hung(live, status.Resources)
	r.Truncated = fit(status, &r.Tree, v1alpha1.MaxReportSize)
	r.Status = *status
	return r
}

// syncUnknown is Argo CD's code for what it cannot compare.
const syncUnknown = "Unknown"

// NotCompared notes in a report since when the Application has not been compared, where that is longer than after, and tells
// after how long it will be otherwise: 0 for never. One that was never compared has not been since it was created. What the
// cluster compares in time leaves the report as it is. Nor is it noted of an Application whose sync is Unknown: its Argo CD looks
// at it, and says why it cannot compare (appcontroller.go of 2.14 and 3.5 sets no reconciledAt then).
func NotCompared(r *v1alpha1.ApplicationReport, created, now time.Time, after time.Duration) (again time.Duration) {
	r.NotComparedSince = ""
	at, err := time.Parse(time.RFC3339, r.Status.ReconciledAt)
	if never := r.Status.ReconciledAt == "" && r.Status.Sync == nil && len(r.Unreadable) == 0; never {
		at, err = created, nil
	}
	if err != nil || after == 0 || r.Status.Sync != nil && r.Status.Sync.Status == syncUnknown {
		return 0
	}
	if wait := at.Add(after).Sub(now); wait > 0 {
		return wait
	}
	r.NotComparedSince = at.UTC().Format(time.RFC3339)
	return 0
}

// Digest is the same for two reports that say the same, whenever that was observed. When the cluster's Argo CD last compared
// does not count, nor the version that came of it: it compares every few minutes, and a report would be written each time.
func Digest(r *v1alpha1.ApplicationReport) string {
	said := struct {
		Application v1alpha1.ReportedApplication
		Status      argocd.Status
		Unreadable  []string
		Truncated   *v1alpha1.Truncated
		NotCompared string              `json:",omitempty"`
		Tree        []v1alpha1.TreeNode `json:",omitempty"`
	}{r.Application, r.Status, r.Unreadable, r.Truncated, r.NotComparedSince, r.Tree}
	said.Application.ResourceVersion, said.Status.ReconciledAt = "", ""
	data, err := json.Marshal(said)
	if err != nil {
		panic(err) // strings, numbers and booleans
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
