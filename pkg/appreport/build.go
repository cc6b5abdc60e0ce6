package appreport

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Build is the report on a cluster's Application as it was seen at that time, without metadata of its own.
func Build(app *argocd.Application, seen time.Time) *v1alpha1.ApplicationReport {
	status := app.Status.DeepCopy()
	clean(status)
	r := &v1alpha1.ApplicationReport{
		Application: v1alpha1.ReportedApplication{
			Namespace: app.Namespace, Name: app.Name, UID: string(app.UID), ResourceVersion: app.ResourceVersion,
		},
		ObservedAt: seen.UTC().Format(time.RFC3339),
	}
	r.Unreadable = status.Unreadable
	r.Truncated = fit(status, v1alpha1.MaxReportSize)
	r.Status = *status
	return r
}

// Digest is the same for two reports that say the same, whenever that was observed. When the cluster's Argo CD last compared
// does not count, nor the version that came of it: it compares every few minutes, and a report would be written each time.
func Digest(r *v1alpha1.ApplicationReport) string {
	said := struct {
		Application v1alpha1.ReportedApplication
		Status      argocd.Status
		Unreadable  []string
		Truncated   *v1alpha1.Truncated
	}{r.Application, r.Status, r.Unreadable, r.Truncated}
	said.Application.ResourceVersion, said.Status.ReconciledAt = "", ""
	data, err := json.Marshal(said)
	if err != nil {
		panic(err) // strings, numbers and booleans
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
