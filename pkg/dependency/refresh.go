package dependency

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// What Argo CD says of an Application whose dependencies have not come yet.
const (
	// InvalidSpec: it and its project do not go together.
	InvalidSpec = "InvalidSpecError"

	// NoComparison: its sources cannot be read, for want of a credential perhaps.
	NoComparison = "ComparisonError"
)

// settled is how long to wait before a refresh is asked for. Several dependencies may come at once; and the cluster says
// by the second when it compared last, so that a refresh in the same second would seem to go unanswered.
const settled = 1200 * time.Millisecond

// Refresh is with which dependencies a refresh of an Application was requested last, or is to be, so that one which stays
// as it is is not refreshed again. The zero value: with none. Forgotten at a restart, it costs one refresh.
type Refresh struct {
	// With names the states of the dependencies.
	With string

	// Due is when to ask, and Asked is set when that was done.
	Due   time.Time
	Asked bool
}

// refresh requests a refresh of an Application that its cluster's Argo CD could make nothing of, once its project and its
// credentials are there as they are now: Argo CD (v2.14) does not look at an Application again when these come or
// change, but minutes later.
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
		now = Refresh{With: with, Due: d.Now.Add(settled)}
	}
	if now.Asked {
		return
	}
	left := max(0, now.Due.Sub(d.Now))
	if now.Asked = left == 0; now.Asked {
		d.hub().Annotations = map[string]*string{apis.AnnotationRefresh: ptr.To("normal")}
	}
	d.plan.Refresh = &now
	d.wait(left)
}

// arrived names the states of those dependencies that the cluster has and that the Application was in want of; empty when
// there are none.
func (d *decision) arrived(app *argocd.Application) string {
	wanted := map[Kind]bool{}
	for _, c := range app.Status.Conditions {
		wanted[Project] = wanted[Project] || c.Type == InvalidSpec
		wanted[Credential] = wanted[Credential] || c.Type == NoComparison
		wanted[Certificate] = wanted[Credential]
	}
	var out strings.Builder
	for _, w := range d.Dependencies {
		if kind, _ := KindOf(w.Name); wanted[kind] && Applied(w) {
			fmt.Fprintf(&out, "%s/%d ", w.UID, w.Generation)
		}
	}
	return out.String()
}
