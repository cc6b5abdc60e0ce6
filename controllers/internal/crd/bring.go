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
	// absence is how long a CRD must be missing before Towline brings its own: a product that upgrades may delete its CRD and create it again.
	absence = 10 * time.Second

	// lookEvery is how often the cache is asked for the CRD, and bringEvery how often Towline tries again what failed.
	lookEvery  = time.Second
	bringEvery = time.Minute
)

// Bringer creates a CRD that the hub lacks, at the start and while Towline leads. It never changes a CRD that the hub has.
type Bringer struct {
	// Manifest is Towline's CRD, in YAML.
	Manifest []byte

	// Missing is told whether the hub lacks the CRD.
	Missing func(bool)

	// Remedy says what an administrator can do where Towline may not create the CRD.
	Remedy string

	crd   unstructured.Unstructured
	cache client.Reader
	hub   client.Client

	// since is when the CRD was first missed, said what the log has of that, and next when to try to create the CRD.
	since, next time.Time
	said        string
}

// Add lets the manager run the Bringer while it leads.
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

// leading runs on the replica that leads.
type leading func(context.Context) error

func (l leading) Start(ctx context.Context) error { return l(ctx) }

// NeedLeaderElection is for the manager.
func (leading) NeedLeaderElection() bool { return true }

// look creates the CRD if the cache has lacked it for a while.
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
		b.say(ctx, b.hub.Create(ctx, b.crd.DeepCopy()))
	}
}

// found forgets that the CRD was missing.
func (b *Bringer) found(ctx context.Context) {
	if b.said != "" {
		ctrl.LoggerFrom(ctx).Info("The hub has the CRD again", "name", b.crd.GetName())
	}
	b.since, b.said = time.Time{}, ""
	b.Missing(false)
}

// say tells the log once what became of an attempt.
func (b *Bringer) say(ctx context.Context, err error) {
	log := ctrl.LoggerFrom(ctx).WithValues("name", b.crd.GetName(), "since", b.since.UTC().Format(time.RFC3339))
	if err == nil || apierrors.IsAlreadyExists(err) {
		b.said = "created"
		log.Info("The hub lacked the CRD, and Towline created its own")
		return
	}
	if text := err.Error(); text != b.said && !errors.Is(err, context.Canceled) {
		b.said = text
		log.Error(err, "The hub lacks the CRD, and Towline cannot create its own", "remedy", b.Remedy)
	}
}

// metadata is the CRD of which only the metadata is asked for.
func metadata() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}
