package steer

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// operation is Argo CD's operation, as its API server builds the operation for `argocd app sync`.
type operation struct {
	Sync        syncOperation       `json:"sync"`
	InitiatedBy *argocd.Initiator   `json:"initiatedBy,omitempty"`
	Retry       json.RawMessage     `json:"retry,omitempty"`
	Info        []map[string]string `json:"info,omitempty"`
}

type syncOperation struct {
	Revision     string                    `json:"revision,omitempty"`
	Prune        bool                      `json:"prune,omitempty"`
	DryRun       bool                      `json:"dryRun,omitempty"`
	SyncOptions  []string                  `json:"syncOptions,omitempty"`
	SyncStrategy map[string]map[string]any `json:"syncStrategy,omitempty"`
}

// wishes are the parts of an Application's spec that affect a sync.
type wishes struct {
	Source struct {
		TargetRevision string `json:"targetRevision"`
	} `json:"source"`
	Sources    []json.RawMessage `json:"sources"`
	SyncPolicy struct {
		Automated *struct {
			Enabled *bool `json:"enabled"`
		} `json:"automated"`
		SyncOptions []string        `json:"syncOptions"`
		Retry       json.RawMessage `json:"retry"`
	} `json:"syncPolicy"`
}

// automated returns whether Argo CD syncs the Application automatically.
func (w *wishes) automated() bool {
	a := w.SyncPolicy.Automated
	return a != nil && (a.Enabled == nil || *a.Enabled)
}

// planSync requests a sync as Argo CD's API server does (2.14 and 3.5, Sync), and refuses the same requests.
func planSync(f *Facts, r Request) (*Change, *Refusal) {
	app := f.App
	name := app.Namespace + "/" + app.Name
	w := &wishes{}
	if err := json.Unmarshal(app.Spec.Raw, w); err != nil {
		return refuse("", "the spec of Application %s cannot be read: %v", name, err)
	}
	switch target := cmp.Or(w.Source.TargetRevision, "HEAD"); {
	case app.Operation != nil:
		return refuse(fmt.Sprintf("kubectl towline stop -n %s %s", app.Namespace, app.Name), "Application %s has another operation already, which its "+
			"cluster has not taken yet", name)
	case r.Revision != "" && len(w.Sources) > 0:
		return refuse("", "Application %s has several sources, and --revision works with a single source. Change targetRevision of the sources", name)
	case r.Revision != "" && r.Revision != target && w.automated() && !r.Preview:
		return refuse("", "Application %s cannot be synced to %s, because Argo CD syncs automatically to %s. Change targetRevision of the source", name,
			r.Revision, target)
	}
	strategy := "hook"
	if r.Apply {
		strategy = "apply"
	}
	o := operation{
		Sync: syncOperation{Revision: r.Revision, Prune: r.Prune, DryRun: r.Preview, SyncOptions: w.SyncPolicy.SyncOptions,
			SyncStrategy: map[string]map[string]any{strategy: {}}},
		InitiatedBy: &argocd.Initiator{Username: r.User}, Retry: w.SyncPolicy.Retry,
	}
	data, err := json.Marshal(o)
	if err != nil {
		return refuse("", "the spec of Application %s cannot be read: %v", name, err)
	}
	what := "a sync"
	if r.Preview {
		what = "a sync that changes nothing"
	}
	return change(f, argocd.Patch{Operation: data}, fmt.Sprintf("%s on %s has been requested", what, clusterOf(app)), "the end of the operation"), nil
}

// planStop terminates a running operation, or withdraws an operation not yet taken by the cluster.
func planStop(f *Facts, _ Request) (*Change, *Refusal) {
	app := f.App
	state := app.Status.OperationState
	switch {
	case state.Terminating():
		return nothing("the operation is being terminated already")
	case state.Running():
		return change(f, argocd.Patch{Status: json.RawMessage(`{"operationState":{"phase":"Terminating"}}`)},
			"the operation on "+clusterOf(app)+" is to be terminated", "the end of the operation"), nil
	case app.Operation != nil:
		return change(f, argocd.Patch{Operation: json.RawMessage("null")}, "the operation has been withdrawn", "the operation to be gone"), nil
	}
	return nothing("no operation is in progress")
}

// planRefresh asks the cluster's Argo CD to compare again.
func planRefresh(f *Facts, r Request) (*Change, *Refusal) {
	kind := "normal"
	if r.Hard {
		kind = "hard"
	}
	c := change(f, argocd.Patch{Annotations: map[string]*string{apis.AnnotationRefresh: &kind}},
		fmt.Sprintf("a %s refresh on %s has been requested", kind, clusterOf(f.App)), "the answer of the cluster's Argo CD")
	return c, nil
}
