package dependency

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Condition types of Argo CD for an Application whose dependencies have not arrived yet.
const (
	// InvalidSpec means a mismatch between the Application and the project.
	InvalidSpec = "InvalidSpecError"

	// NoComparison means that Argo CD cannot read the sources, for example without a credential.
	NoComparison = "ComparisonError"
)

// arrivalWindow is how long to wait before a refresh request. Several dependencies may arrive at once. The cluster also
// reports the time of the last comparison only in full seconds. A refresh in the same second would seem unanswered.
const arrivalWindow = 1200 * time.Millisecond

// Refresh is the memory of the last or planned refresh request of an Application, with the states of its
// dependencies. It prevents a second request for the same states. The zero value means no dependencies. After a
// restart, a lost memory costs one refresh.
type Refresh struct {
	// With names the states of the dependencies.
	With string

	// Due is when to request the refresh. Asked is set after the request.
	Due       time.Time
	Requested bool
}

// refresh requests a refresh of an Application with an Argo CD error, after the arrival of its project or
// credentials. Argo CD (v2.14) looks at an Application again only minutes after a change of its dependencies.
func (d *decision) refresh(app *argocd.Application) {
	if app.Refresh() != "" {
		return
	}
	with := d.arrived(app)
	if with == "" {
		return
	}
	now := d.Refresh
	if now.With != with {
		now = Refresh{With: with, Due: d.Now.Add(arrivalWindow)}
	}
	if now.Requested {
		return
	}
	left := max(0, now.Due.Sub(d.Now))
	if now.Requested = left == 0; now.Requested {
		d.hub().Annotations = map[string]*string{apis.AnnotationRefresh: ptr.To("normal")}
	}
	d.plan.Refresh = &now
	d.wait(left)
}

// arrived returns the states of the applied dependencies that the Application's errors ask for; empty for none.
func (d *decision) arrived(app *argocd.Application) string {
	wanted := map[Kind]bool{}
	for _, c := range app.Status.Conditions {
		wanted[Project] = wanted[Project] || c.Type == InvalidSpec
		wanted[Credential] = wanted[Credential] || c.Type == NoComparison
		wanted[Certificate], wanted[HostKeys] = wanted[Credential], wanted[Credential]
	}
	var out strings.Builder
	for _, w := range d.Dependencies {
		if kind, _ := KindOf(w.Name); wanted[kind] && Applied(w) {
			fmt.Fprintf(&out, "%s/%d ", w.UID, w.Generation)
		}
	}
	return out.String()
}
