package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/steer"
	"github.com/towline-io/towline/pkg/why"
	"github.com/towline-io/towline/pkg/work"
)

// lookAgain is the maximum time of a watch: a ManifestWork can go without a change of the Application.
const lookAgain = 5 * time.Second

// await waits until the hub shows the effect, or until the end time.
func (o *verbOptions) await(ctx context.Context, h *hub, before *argocd.Application, c *steer.Change, r outcome, end time.Time) outcome {
	fmt.Fprintf(o.ErrOut, "%s: %s; waiting for %s\n", before.Name, plain(c.Message), plain(c.Awaits))
	waiting, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	said := ""
	for { // read at least once, and once more at the end: the result is always from the last read
		p, version, err := o.progress(ctx, h, before)
		switch {
		case err != nil:
			return failed(r.Object, err)
		case p.State != why.Waiting:
			r.State, r.Message = p.State, p.Message
			return r
		case waiting.Err() != nil:
			r.State, r.Message = why.Waiting, fmt.Sprintf("%s, and %s is over: %s", r.Message, o.timeout, p.Message)
			return r
		}
		if p.Message != said {
			said = p.Message
			fmt.Fprintf(o.ErrOut, "%s: %s\n", before.Name, plain(said))
		}
		if err := h.changed(waiting, &argocd.ApplicationList{}, before, version); err != nil && waiting.Err() == nil {
			return failed(r.Object, err)
		}
	}
}

// progress reads the progress of a request, and returns the resource version of the Application.
func (o *verbOptions) progress(ctx context.Context, h *hub, before *argocd.Application) (steer.Progress, string, error) {
	e := &steer.Effect{Verb: o.request.Verb, Undo: o.request.Undo, Before: before}
	var err error
	if e.Now, err = reading.Get(ctx, h, client.ObjectKeyFromObject(before), &argocd.Application{}); err != nil || e.Now == nil {
		return e.Progress(), "", err
	}
	if e.Verb.NeedsWorks() {
		if e.Old, err = h.workOf(ctx, before); err != nil {
			return steer.Progress{}, "", err
		}
		if e.New, err = h.workOf(ctx, e.Now); err != nil {
			return steer.Progress{}, "", err
		}
	}
	return e.Progress(), e.Now.ResourceVersion, nil
}

// workOf returns the ManifestWork of an Application; nil for none.
func (h *hub) workOf(ctx context.Context, app *argocd.Application) (*workv1.ManifestWork, error) {
	if app.Cluster() == "" {
		return nil, nil //nolint:nilnil // documented
	}
	return reading.Get(ctx, h, work.Key(app), &workv1.ManifestWork{})
}

// changed waits for a change of the object, for at most lookAgain. list is an empty list of the object's kind.
func (h *hub) changed(ctx context.Context, list client.ObjectList, obj client.Object, version string) error {
	ctx, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	watcher, err := h.Client.(client.WithWatch).Watch(ctx, list, client.InNamespace(obj.GetNamespace()),
		client.MatchingFields{"metadata.name": obj.GetName()},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: ptr.To(int64(lookAgain.Seconds()))}})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer watcher.Stop()
	select {
	case event, open := <-watcher.ResultChan():
		if !open || event.Type == watch.Error { // the version cannot be watched: read again after a pause
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	case <-ctx.Done():
	}
	return nil
}
