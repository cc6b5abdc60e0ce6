package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/steer"
	"github.com/towline-io/towline/pkg/why"
)

// dryRuns are the values of --dry-run.
var dryRuns = []string{"none", "client", "server"}

func (o *verbOptions) validateVerb(args []string) error {
	named := len(args) > 0
	targets := 0
	for _, given := range []bool{named, o.selector != "", o.cluster != "", o.set != ""} {
		if given {
			targets++
		}
	}
	switch {
	case !slices.Contains(dryRuns, o.dryRun):
		return fmt.Errorf("--dry-run: %q is not one of none, client, server", o.dryRun)
	case targets == 0:
		return fmt.Errorf("name Applications, or select them with --selector: kubectl towline %s --help", o.request.Verb)
	case targets > 1:
		return fmt.Errorf("name Applications or select them, and not both: kubectl towline %s --help", o.request.Verb)
	case o.wait && (o.cluster != "" || o.set != ""):
		return fmt.Errorf("--wait is for Applications: a pause of many is seen on each, with kubectl towline why")
	}
	return nil
}

func (o *verbOptions) run(ctx context.Context, args []string) error {
	if err := o.validateVerb(args); err != nil {
		return err
	}
	h, err := o.connect()
	if err != nil {
		return err
	}
	namespace, err := o.namespace()
	if err != nil {
		return err
	}
	if o.cluster != "" || o.set != "" {
		return o.pauseOther(ctx, h, namespace)
	}
	if args, err = h.selected(ctx, namespace, o.selector, args); err != nil {
		return err
	}
	return o.each(ctx, h, namespace, args)
}

// selected returns the names of the Applications for pull with the labels; without a selector, the given names.
func (h *hub) selected(ctx context.Context, namespace, selector string, names []string) ([]string, error) {
	if selector == "" {
		return names, nil
	}
	labelled, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	err = eachMetadata(ctx, h, applicationKind, func(m *metav1.PartialObjectMetadata) {
		if a := (&argocd.Application{ObjectMeta: m.ObjectMeta}); a.Pulled() {
			names = append(names, m.Name)
		}
	}, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: labelled})
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("no Application for pull in namespace %s has the labels %s", namespace, selector)
	}
	return names, nil
}

// each applies the request to each Application, and waits for the effects.
func (o *verbOptions) each(ctx context.Context, h *hub, namespace string, names []string) error {
	steps := make([]func() (outcome, waiting), len(names))
	for i, name := range names {
		steps[i] = func() (outcome, waiting) {
			return o.one(ctx, h, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return o.sideBySide(ctx, steps)
}

// one applies the request to an Application. With --wait, it also returns a function that waits for the effect.
func (o *verbOptions) one(ctx context.Context, h *hub, key types.NamespacedName) (outcome, waiting) {
	object := "applications.argoproj.io/" + key.String()
	var facts *steer.Facts
	var c *steer.Change
	agreed, patched := "", false // after a conflict, a different plan needs a new confirmation
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var err error
		if facts, err = o.steerFacts(ctx, h, key); err != nil {
			return err
		}
		var refused *steer.Refusal
		if c, refused = steer.Of(facts, o.request); refused != nil {
			return refused
		}
		if c.MustConfirm && c.Confirm != agreed && !o.yes && o.dryRun == "none" {
			if err := o.confirm(ctx, c.Confirm); err != nil {
				return err
			}
			agreed = c.Confirm
		}
		wrote, err := o.write(ctx, h, facts.App.DeepCopy(), c)
		patched = patched || wrote
		return err
	})
	switch {
	case err != nil && patched:
		return failed(object, fmt.Errorf("the settings of --cascade and --force are on the Application, but the deletion failed: %w", err)), nil
	case err != nil:
		return failed(object, err), nil
	}
	r := o.wrote(outcome{Object: object, State: why.OK, Message: c.Message, Note: c.Confirm, Patch: c.Patch, Delete: c.Delete})
	if o.wait && r.DryRun == "" && (c.Patch != nil || c.Delete) {
		return r, func(end time.Time) outcome { return o.await(ctx, h, facts.App, c, r, end) }
	}
	return r, nil
}

// wrote returns the outcome, marked as a dry run if nothing was written.
func (o *verbOptions) wrote(r outcome) outcome {
	if o.dryRun != "none" {
		r.DryRun, r.Message = o.dryRun, "dry run: "+r.Message
	}
	return r
}

// steerFacts reads the facts for a request.
func (o *verbOptions) steerFacts(ctx context.Context, h *hub, key types.NamespacedName) (*steer.Facts, error) {
	app, err := reading.Get(ctx, h, key, &argocd.Application{})
	if err != nil {
		return nil, err
	}
	if app == nil {
		return nil, fmt.Errorf("the Application %s does not exist in this namespace: name the namespace with -n", key)
	}
	f := &steer.Facts{App: app}
	if name, ok := app.ApplicationSet(); ok {
		if f.Set, err = h.steerSet(ctx, types.NamespacedName{Namespace: key.Namespace, Name: name}, key.Name); err != nil {
			return nil, err
		}
	}
	switch o.request.Verb {
	case steer.Adopt:
		err = client.IgnoreNotFound(o.towline.Read(ctx, h))
		f.AdoptNever = o.towline.Adopt == apis.AdoptNever
	case steer.Move:
		if o.request.To != "" {
			var cluster *clusterv1.ManagedCluster
			cluster, err = reading.Get(ctx, h, types.NamespacedName{Name: o.request.To}, &clusterv1.ManagedCluster{})
			f.NoCluster = err == nil && cluster == nil
		}
	}
	if apierrors.IsForbidden(err) {
		err = nil // Towline itself makes the final decision
	}
	return f, err
}

// write writes a change, or lets the hub check the change in a dry run. It reports whether a patch was written before
// a deletion.
func (o *verbOptions) write(ctx context.Context, h *hub, obj client.Object, c *steer.Change) (bool, error) {
	if o.dryRun == "client" {
		return false, nil
	}
	var patching []client.PatchOption
	dry := o.dryRun == "server"
	if dry {
		patching = append(patching, client.DryRunAll)
	}
	if c.Delete && (dry || c.Patch != nil) { // a refused deletion must not change the finalizers
		if err := remove(ctx, h, obj, client.DryRunAll); err != nil {
			return false, err
		}
	}
	if c.Patch != nil {
		if err := h.Patch(ctx, obj, client.RawPatch(types.MergePatchType, c.Patch), patching...); err != nil {
			return false, err
		}
	}
	if dry || !c.Delete {
		return false, nil
	}
	return c.Patch != nil, remove(ctx, h, obj)
}

// remove deletes an object, if its version is unchanged since the read.
func remove(ctx context.Context, h *hub, obj client.Object, opts ...client.DeleteOption) error {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	return h.Delete(ctx, obj, append(opts, client.Preconditions{UID: &uid, ResourceVersion: &version})...)
}
