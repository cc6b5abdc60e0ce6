package crd

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	// absence is how long a CRD must be missing before Towline brings its own CRD. An upgrade of a product may delete
	// the CRD and create the CRD again.
	absence = 10 * time.Second

	// lookEvery is the interval between two looks for the CRD in the cache. bringEvery is the interval between two
	// attempts to create the CRD.
	lookEvery  = time.Second
	bringEvery = time.Minute
)

// Bringer creates a CRD that the hub lacks, at the start and while Towline leads. Bringer never changes a CRD of the
// hub.
type Bringer struct {
	// Manifest is Towline's CRD, in YAML.
	Manifest []byte

	// Missing is called with true when the hub lacks the CRD, and with false when the hub has the CRD.
	Missing func(bool)

	// Remedy is a hint for an administrator, for the case that Towline may not create the CRD.
	Remedy string

	crd   unstructured.Unstructured
	cache client.Reader
	hub   client.Client

	// since is when the CRD was first missed. logged is the last log message about the missing CRD. next is the time of
	// the next attempt to create the CRD.
	since, next time.Time
	logged      string
}

// Add makes the manager run the Bringer on the leading replica.
func (b *Bringer) Add(mgr ctrl.Manager) error {
	if err := yaml.Unmarshal(b.Manifest, &b.crd.Object); err != nil {
		return fmt.Errorf("the manifest of a CRD: %w", err)
	}
	b.hub = mgr.GetClient()
	return mgr.Add(leading(func(ctx context.Context) error {
		c, err := follow(ctx, mgr, b.crd.GetName(), make(chan struct{}, 1))
		if err != nil {
			return fmt.Errorf("the CRD %s: %w", b.crd.GetName(), err)
		}
		go func() {
			if err := c.Start(ctx); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Cannot follow the CRD", "name", b.crd.GetName())
			}
		}()
		if !c.WaitForCacheSync(ctx) {
			return nil // the program ends
		}
		b.cache = c
		wait.UntilWithContext(ctx, func(ctx context.Context) { b.look(ctx, time.Now()) }, lookEvery)
		return nil
	}))
}

// leading is a runnable for the leading replica only.
type leading func(context.Context) error

func (l leading) Start(ctx context.Context) error { return l(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (leading) NeedLeaderElection() bool { return true }

// look creates the CRD if the cache has lacked the CRD for at least absence.
func (b *Bringer) look(ctx context.Context, now time.Time) {
	err := b.cache.Get(ctx, types.NamespacedName{Name: b.crd.GetName()}, metadata())
	switch {
	case err == nil:
		b.found(ctx)
	case !apierrors.IsNotFound(err):
		return // the cache stops
	case b.since.IsZero():
		b.since, b.next = now, now.Add(absence)
	case !now.Before(b.next):
		b.next = now.Add(bringEvery)
		b.Missing(true)
		b.logResult(ctx, b.hub.Create(ctx, b.crd.DeepCopy()))
	}
}

// found resets the Bringer when the CRD exists.
func (b *Bringer) found(ctx context.Context) {
	if b.logged != "" {
		ctrl.LoggerFrom(ctx).Info("The hub has the CRD again", "name", b.crd.GetName())
	}
	b.since, b.logged = time.Time{}, ""
	b.Missing(false)
}

// logResult logs the result of an attempt to create the CRD, once for each different result.
func (b *Bringer) logResult(ctx context.Context, err error) {
	log := ctrl.LoggerFrom(ctx).WithValues("name", b.crd.GetName(), "since", b.since.UTC().Format(time.RFC3339))
	if err == nil || apierrors.IsAlreadyExists(err) {
		b.logged = "created"
		log.Info("The hub lacked the CRD, and Towline created its own")
		return
	}
	if text := err.Error(); text != b.logged && !errors.Is(err, context.Canceled) {
		b.logged = text
		log.Error(err, "The hub lacks the CRD, and Towline cannot create its own", "remedy", b.Remedy)
	}
}

// metadata returns an empty CRD object for requests of the metadata only.
func metadata() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}
