package observed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// of returns a resource with the kind, name, sync status, health and message.
func of(kind, name, sync, health, message string) argocd.ResourceStatus {
	r := argocd.ResourceStatus{Group: "apps", Version: "v1", Kind: kind, Namespace: "guestbook", Name: name, Status: sync}
	if health != "" {
		r.Health = &argocd.Health{Status: health, Message: message}
	}
	return r
}

// after returns an operation with the Deployments that the operation could not apply, by name.
func after(phase string, retries int64, failed ...string) *argocd.OperationState {
	o := &argocd.OperationState{Phase: phase, RetryCount: retries, StartedAt: "2026-01-02T03:04:05Z", SyncResult: &argocd.SyncResult{}}
	for _, name := range failed {
		o.SyncResult.Resources = append(o.SyncResult.Resources, argocd.ResourceResult{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "guestbook", Name: name, Status: "SyncFailed", Message: name + " is forbidden",
		})
	}
	return o
}

func TestProblems(t *testing.T) {
	hook := of("Job", "migrate", "", "Degraded", "it failed")
	hook.Hook = true
	hooked := after("Failed", 0, "ui")
	hooked.SyncResult.Resources[0].HookType = "PreSync"
	for title, tc := range map[string]struct {
		resources []argocd.ResourceStatus
		operation *argocd.OperationState
		want      []string
	}{
		"nothing": {},
		"all is well": {
			resources: []argocd.ResourceStatus{of("Deployment", "ui", "Synced", "Healthy", ""), of("ConfigMap", "c", "Synced", "", "")},
			operation: after("Succeeded", 0),
		},
		"what only differs or is on its way has not failed": {
			resources: []argocd.ResourceStatus{of("Deployment", "ui", "OutOfSync", "Progressing", "1 of 2"), of("Job", "j", "OutOfSync", "Suspended", "")},
		},
		"what needs the most attention is first": {
			resources: []argocd.ResourceStatus{
				of("Deployment", "degraded", "Synced", "Degraded", "no progress"), of("Deployment", "failed", "OutOfSync", "Healthy", ""),
				of("Deployment", "missing", "OutOfSync", "Missing", ""),
			},
			operation: after("Failed", 0, "failed", "missing"),
			want: []string{"Missing missing: missing is forbidden", "SyncFailed failed: failed is forbidden",
				"Degraded degraded: no progress"},
		},
		"a resource that cannot be changed, and does not work": {
			resources: []argocd.ResourceStatus{of("Deployment", "ui", "OutOfSync", "Degraded", "no progress")},
			operation: after("Failed", 0, "ui"),
			want:      []string{"SyncFailed ui: ui is forbidden"},
		},
		"a resource that was brought to what Git says since": {
			resources: []argocd.ResourceStatus{of("Deployment", "ui", "Synced", "Healthy", "")},
			operation: after("Failed", 0, "ui"),
		},
		"nothing could be compared": {
			operation: after("Failed", 0, "b", "a"),
			want:      []string{"SyncFailed a: a is forbidden", "SyncFailed b: b is forbidden"},
		},
		"a first attempt has still to make it": {
			resources: []argocd.ResourceStatus{of("Deployment", "ui", "OutOfSync", "Missing", "")},
			operation: after("Running", 0),
		},
		"a first attempt that could not": {
			resources: []argocd.ResourceStatus{of("Deployment", "ui", "OutOfSync", "Missing", "")},
			operation: after("Running", 1, "ui"),
			want:      []string{"Missing ui: ui is forbidden"},
		},
		"hooks run and are done": {resources: []argocd.ResourceStatus{hook}, operation: hooked},
	} {
		t.Run(title, func(t *testing.T) {
			var got []string
			for _, p := range Problems(&argocd.Status{Resources: tc.resources, OperationState: tc.operation}) {
				got = append(got, fmt.Sprintf("%s %s: %s", p.State, p.Resource.Name, p.Message))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestProblemsAreBounded: an Application with thousands of resources does not fill a report, and the choice of
// reported resources does not depend on their order.
func TestProblemsAreBounded(t *testing.T) {
	s := argocd.Status{}
	for i := range 5000 {
		s.Resources = append(s.Resources, of("Deployment", fmt.Sprintf("d%04d", 4999-i), "Synced", "Degraded", "no progress"))
	}
	got := Problems(&s)
	if len(got) != maxProblems || got[0].Resource.Name != "d0000" {
		t.Errorf("%d problems, the first is %+v", len(got), got[0])
	}
}

func TestWhyDegraded(t *testing.T) {
	cluster := of("ClusterThing", "c", "Synced", "Degraded", "")
	cluster.Namespace = ""
	degraded := func(name string) argocd.ResourceStatus {
		return of("Deployment", name, "Synced", "Degraded", "no progress")
	}
	for title, tc := range map[string]struct {
		health    string
		resources []argocd.ResourceStatus
		want      string
	}{
		"not known":    {health: "Degraded"},
		"not Degraded": {health: "Progressing", resources: []argocd.ResourceStatus{degraded("ui")}},
		"one": {
			health: "Degraded", resources: []argocd.ResourceStatus{of("Service", "ui", "Synced", "Healthy", "fine"), degraded("ui")},
			want: "Deployment guestbook/ui: no progress",
		},
		"in no namespace, without a message": {health: "Degraded", resources: []argocd.ResourceStatus{cluster}, want: "ClusterThing c is Degraded"},
		"five": {
			health: "Degraded", resources: []argocd.ResourceStatus{degraded("a"), degraded("b"), degraded("c"), degraded("d"), degraded("e")},
			want: "Deployment guestbook/a: no progress; Deployment guestbook/b: no progress; Deployment guestbook/c: no progress; and 2 more",
		},
		"a long message": {
			health: "Degraded", resources: []argocd.ResourceStatus{of("Job", "j", "Synced", "Degraded", strings.Repeat("x", 2000))},
			want: "Job guestbook/j: " + strings.Repeat("x", maxReason-3) + "…",
		},
	} {
		t.Run(title, func(t *testing.T) {
			got := WhyDegraded(&argocd.Status{Health: argocd.Health{Status: tc.health}, Resources: tc.resources})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
