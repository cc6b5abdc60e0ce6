package report_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/report"
)

// guestbook is the ApplicationSet of most tests.
var guestbook = types.NamespacedName{Namespace: "argocd", Name: "guestbook-app-set"}

// owner is the UID of the ApplicationSet.
const owner = types.UID("5e7")

// app starts an Application of the guestbook set for a cluster.
func app(cluster string) *fixture.ApplicationBuilder {
	return fixture.Application(cluster + "-guestbook-app").ApplicationSet(guestbook.Name).Cluster(cluster)
}

// seenBuilder builds the observation of a source.
type seenBuilder struct{ seen observed.Facts }

// seen starts a complete observation by feedback.
func seen(health, sync string) *seenBuilder {
	b := &seenBuilder{observed.Facts{Source: "feedback", Complete: true}}
	b.seen.Status.Health.Status = health
	if sync != "" {
		b.seen.Status.Sync = &argocd.Sync{Status: sync}
	}
	return b
}

func (b *seenBuilder) Revision(revisions ...string) *seenBuilder {
	if b.seen.Status.Sync.Revision = revisions[0]; len(revisions) > 1 {
		b.seen.Status.Sync.Revision, b.seen.Status.Sync.Revisions = "", revisions
	}
	return b
}

func (b *seenBuilder) Operation(phase, message string) *seenBuilder {
	b.seen.Status.OperationState = &argocd.OperationState{Phase: phase, Message: message, StartedAt: "2026-01-02T03:04:05Z"}
	return b
}

func (b *seenBuilder) Condition(conditionType, message string) *seenBuilder {
	b.seen.Status.Conditions = append(b.seen.Status.Conditions, argocd.Condition{Type: conditionType, Message: message})
	return b
}

// By sets a different source, with the time of the observation.
func (b *seenBuilder) By(source string, at int64) *seenBuilder {
	b.seen.Source, b.seen.ObservedAt = source, metav1.Unix(at, 0)
	return b
}

// Partial makes the observation incomplete: a missing field then proves no absence.
func (b *seenBuilder) Partial() *seenBuilder {
	b.seen.Complete = false
	return b
}

// Resource adds a resource, given as "apps/v1/Deployment/<namespace>/<name>".
func (b *seenBuilder) Resource(path, sync, health string) *seenBuilder {
	p := strings.Split(path, "/")
	r := argocd.ResourceStatus{Group: p[0], Version: p[1], Kind: p[2], Namespace: p[3], Name: p[4], Status: sync}
	if health != "" {
		r.Health = &argocd.Health{Status: health}
	}
	b.seen.Detailed = true
	b.seen.Status.Resources = append(b.seen.Status.Resources, r)
	return b
}

// Degraded sets the work agent's message about one resource, as the only known resource.
func (b *seenBuilder) Degraded(kind, name, why string) *seenBuilder {
	b.seen.Status.Resources = []argocd.ResourceStatus{{Kind: kind, Name: name, Health: &argocd.Health{Status: "Degraded", Message: why}}}
	return b
}

// Message sets the health message of the last resource.
func (b *seenBuilder) Message(why string) *seenBuilder {
	b.seen.Status.Resources[len(b.seen.Status.Resources)-1].Health.Message = why
	return b
}

// Started sets the start time of the operation.
func (b *seenBuilder) Started(at string) *seenBuilder {
	b.seen.Status.OperationState.StartedAt = at
	return b
}

// Retries sets an operation with the given number of failed attempts and the given message. Argo CD retries the
// operation.
func (b *seenBuilder) Retries(times int64, message string) *seenBuilder {
	b.Operation("Running", message)
	b.seen.Status.OperationState.RetryCount = times
	return b
}

// SyncFailed adds a resource, in the format of Resource, with a failed apply in the last sync.
func (b *seenBuilder) SyncFailed(path, why string) *seenBuilder {
	if b.seen.Status.OperationState == nil {
		b.Operation("Failed", "one or more objects failed to apply")
	}
	o := b.seen.Status.OperationState
	if o.SyncResult == nil {
		o.SyncResult = &argocd.SyncResult{}
	}
	p := strings.Split(path, "/")
	o.SyncResult.Resources = append(o.SyncResult.Resources, argocd.ResourceResult{
		Group: p[0], Version: p[1], Kind: p[2], Namespace: p[3], Name: p[4], Status: "SyncFailed", Message: why,
	})
	return b
}

func (b *seenBuilder) Obj() *observed.Facts { return &b.seen }

// put observes an Application into a set, as the controller does.
func put(s *report.Set, a *argocd.Application, seen *observed.Facts, unreachable string) bool {
	key := client.ObjectKeyFromObject(a)
	return s.Put(key, report.Observe(a, seen, unreachable, s.Get(key)))
}

// build returns the report of the guestbook set with the default limit.
func build(s *report.Set) *v1alpha1.MulticlusterApplicationSetReport {
	return s.Build(guestbook, owner, report.MaxBytes)
}

// fill makes a set of n Applications. Every tenth has an error.
func fill(n int) *report.Set {
	s := report.NewSet(nil)
	for i := range n {
		put(s, app(fmt.Sprintf("cluster%05d", i)).Obj(), typical(i), "")
	}
	return s
}

// typical returns the observation of cluster i, with an error in one of ten.
func typical(i int) *observed.Facts {
	const revision = "53e28ff20cc530b9ada2173fbbd64d48338583ba"
	if i%10 == 0 {
		message := "Failed sync attempt to " + revision + ": " + strings.Repeat("services is forbidden, ", 20)
		return seen("Missing", "OutOfSync").Revision(revision).Operation("Failed", message).Condition("SyncError", message).Obj()
	}
	return seen("Healthy", "Synced").Revision(revision).Operation("Succeeded", "successfully synced").Obj()
}

func equal(t *testing.T, title string, got any) {
	t.Helper()
	data, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, title+".golden.yaml", data)
}
