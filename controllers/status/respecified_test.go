package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
)

// TestCompared: a RollingSync, which depends on the revision, notices a change without a new revision too.
func TestCompared(t *testing.T) {
	sync := func(status string, revisions ...string) *argocd.Sync {
		if len(revisions) == 1 {
			return &argocd.Sync{Status: status, Revision: revisions[0]}
		}
		return &argocd.Sync{Status: status, Revisions: revisions}
	}
	for title, tc := range map[string]struct {
		reported   *argocd.Sync
		changed    bool
		changedAt  string
		uncompared bool
		want       *argocd.Sync
	}{
		"nothing known":               {nil, false, "", false, nil},
		"at rest":                     {sync("Synced", "a"), false, "", false, sync("Synced", "a")},
		"changed":                     {sync("Synced", "a"), true, "", false, sync("Unknown")},
		"changed, and sent":           {sync("Synced", "a"), true, "a", false, sync("Unknown")},
		"changed, and nothing known":  {nil, true, "", false, sync("Unknown")},
		"compared":                    {sync("OutOfSync", "a"), false, "a", false, sync("OutOfSync")},
		"compared, several sources":   {sync("OutOfSync", "a", "b"), false, "a,b", false, sync("OutOfSync")},
		"compared, with a new commit": {sync("OutOfSync", "b"), false, "a", false, sync("OutOfSync", "b")},
		"with no difference":          {sync("Synced", "a"), false, "a", false, sync("Synced", "a")},
		"a person's refresh is there": {sync("Synced", "a"), false, "a", true, sync("Unknown")},
		"edited on the cluster":       {sync("OutOfSync", "a"), false, "", false, sync("OutOfSync", "a")},
	} {
		t.Run(title, func(t *testing.T) {
			b := fixture.Application("a")
			if tc.changed {
				b.Annotation(apis.AnnotationRefresh, apis.RefreshSpecChanged)
			}
			sent := relay.Stored{ChangedAt: tc.changedAt, Uncompared: tc.uncompared}
			if diff := cmp.Diff(tc.want, compared(b.Obj(), tc.reported, sent)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// The ApplicationSet controller of Argo CD 2.14 takes Unknown for done.
			if tc.want != nil && tc.want.Status == "Unknown" {
				tc.want = sync("OutOfSync")
			}
			if diff := cmp.Diff(tc.want, compared(b.ApplicationSet("set").Obj(), tc.reported, sent)); diff != "" {
				t.Errorf("of a set (-want +got):\n%s", diff)
			}
		})
	}
}
