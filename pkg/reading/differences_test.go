package reading_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/why"
)

// answers are a hub's objects and errors by kind.
type answers map[string]any

// Get implements client.Reader.
func (a answers) Get(_ context.Context, _ client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	switch answer := a[out.GetObjectKind().GroupVersionKind().Kind].(type) {
	case map[string]any:
		out.(*unstructured.Unstructured).Object = answer
		return nil
	case error:
		return answer
	}
	return apierrors.NewNotFound(schema.GroupResource{}, "")
}

// List implements client.Reader.
func (a answers) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no list is needed")
}

// status returns an object with a status.
func status(of map[string]any) map[string]any { return map[string]any{"status": of} }

// template returns an AddOnTemplate whose agent has arguments.
func template(args ...any) map[string]any {
	container := map[string]any{"containers": []any{map[string]any{"args": args}}}
	manifest := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": container}}}
	return map[string]any{"spec": map[string]any{"agentSpec": map[string]any{"workload": map[string]any{"manifests": []any{manifest}}}}}
}

// TestDifferences: the facts come from the answer of towline-source, and otherwise from the objects on the hub.
func TestDifferences(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "a", nil)
	unserved := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "a", "404 page not found", 0, true)
	absent := apierrors.NewNotFound(schema.GroupResource{Resource: managedresources.Resource}, "a")
	away := apierrors.NewServiceUnavailable("no endpoints")
	conditions := func(available, message string) map[string]any {
		return status(map[string]any{"conditions": []any{
			map[string]any{"type": "Other", "status": "False"}, map[string]any{"type": "Available", "status": available, "message": message},
		}})
	}
	notSent := status(map[string]any{"reason": "NotSent"})
	sends := template("agent", "--argocd-managed-resources=argocd", "--source-bind-address=:8443")
	for title, tc := range map[string]struct {
		hub  answers
		want why.Differences
	}{
		"unreadable":    {answers{managedresources.Kind: forbidden}, why.Differences{Unread: true}},
		"not delivered": {answers{managedresources.Kind: absent}, why.Differences{Absent: true}},
		"not installed": {answers{managedresources.Kind: unserved}, why.Differences{Off: true, Source: &why.SourceState{Missing: true}}},
		"not installed, and the APIService is unreadable": {
			answers{managedresources.Kind: unserved, "APIService": forbidden}, why.Differences{Off: true},
		},
		"without the option": {
			answers{"APIService": conditions("True", "")}, why.Differences{Off: true, Source: &why.SourceState{}},
		},
		"away": {
			answers{managedresources.Kind: away, "APIService": conditions("False", "no endpoints")},
			why.Differences{Off: true, Source: &why.SourceState{Unavailable: "no endpoints"}},
		},
		"too large": {
			answers{managedresources.Kind: status(map[string]any{"reason": "TooLarge"})},
			why.Differences{Status: managedresources.Status{Reason: managedresources.ReasonTooLarge}},
		},
		"no agent": {
			answers{managedresources.Kind: notSent, "AddOnTemplate": sends},
			why.Differences{Status: managedresources.Status{Reason: managedresources.ReasonNotSent}, Agent: why.AgentState{Missing: true}},
		},
		"a silent agent": {
			answers{managedresources.Kind: notSent, "ManagedClusterAddOn": conditions("True", ""), "AddOnTemplate": template("agent")},
			why.Differences{Status: managedresources.Status{Reason: managedresources.ReasonNotSent}, Agent: why.AgentState{Silent: true, Closed: true}},
		},
		"an agent that is away": {
			answers{managedresources.Kind: notSent, "ManagedClusterAddOn": conditions("Unknown", ""), "AddOnTemplate": sends},
			why.Differences{Status: managedresources.Status{Reason: managedresources.ReasonNotSent}, Agent: why.AgentState{Unavailable: true}},
		},
		"an agent that nobody may read": {
			answers{managedresources.Kind: notSent, "ManagedClusterAddOn": forbidden, "AddOnTemplate": forbidden},
			why.Differences{Status: managedresources.Status{Reason: managedresources.ReasonNotSent}},
		},
	} {
		f := &why.Facts{Now: time.Now(), App: fixture.Application("a").Cluster("cluster1").Obj()}
		if err := reading.Differences(t.Context(), tc.hub, f); err != nil || !reflect.DeepEqual(f.Differences, &tc.want) {
			t.Errorf("%s: %+v, %v", title, f.Differences, err)
		}
	}
	entry := answers{managedresources.Kind: status(map[string]any{"application": "argocd/a", "since": "2026-01-02T03:04:05Z", "bytes": int64(7)})}
	f := &why.Facts{App: fixture.Application("a").Cluster("cluster1").Obj()}
	if err := reading.Differences(t.Context(), entry, f); err != nil || f.Differences.Status.Bytes != 7 || f.Differences.Status.Since == nil {
		t.Errorf("an entry: %+v, %v", f.Differences, err)
	}
	for title, cluster := range map[string]string{"no cluster": "", "an impossible cluster": "a/b"} {
		f := &why.Facts{App: fixture.Application("a").Cluster(cluster).Obj()}
		if err := reading.Differences(t.Context(), entry, f); err != nil || f.Differences != nil {
			t.Errorf("%s: %+v, %v", title, f.Differences, err)
		}
	}
	f = &why.Facts{App: fixture.Application("a").Cluster("cluster1").Obj()}
	if err := reading.Differences(t.Context(), answers{managedresources.Kind: notSent, "AddOnTemplate": away}, f); err == nil {
		t.Error("an error of the hub is hidden")
	}
}
