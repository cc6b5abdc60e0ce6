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

// Build returns the report on a cluster's Application, observed at the time seen, with the given live resources. The
// report has no metadata.
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

// syncUnknown is Argo CD's code for a failed comparison.
const syncUnknown = "Unknown"

// NotCompared sets the report's NotComparedSince if the last comparison is older than after, and clears the field
// otherwise. again is the time until the next check: 0 for never. Without a comparison, the creation of the Application
// counts. An Application with the sync status Unknown never gets the field, because its Argo CD reports why the
// comparison fails. In this case, appcontroller.go of 2.14 and 3.5 sets no reconciledAt.
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

// Digest returns equal values for two reports with equal content. The time of the observation, the time of the last
// comparison and the resourceVersion do not count: Argo CD compares every few minutes, and each comparison would cause
// a write of the report.
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
		panic(err) // strings, numbers and booleans always encode
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
