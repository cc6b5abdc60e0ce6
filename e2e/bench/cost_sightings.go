package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-io/towline/pkg/apis"
)

// sightings record what the hub and the cluster have shown about the Applications of a kind of delivery.
type sightings struct {
	// come and gone have the names of the cluster's Applications. available and ended have the names for the hub's
	// works.
	come, gone, available, ended *names

	// changes tracks the statuses on their way to the hub.
	changes *tracker

	mu   sync.Mutex
	last time.Time
}

func (s *sightings) lastChange() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// names is a set of names, with the time of the last new name.
type names struct {
	mu   sync.Mutex
	seen map[string]bool
	last time.Time
}

func newNames() *names { return &names{seen: map[string]bool{}} }

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.seen[name] {
		n.seen[name], n.last = true, time.Now()
	}
}

// wait waits for the given number of names, and returns the time of the last new name.
func (n *names) wait(ctx context.Context, number int) (time.Time, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		n.mu.Lock()
		have, last := len(n.seen), n.last
		n.mu.Unlock()
		if have >= number {
			return last, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last, fmt.Errorf("%d of %d came: %w", have, number, context.Cause(ctx))
		}
	}
}

// costApplication has the fields of an Application that the benchmark reads.
type costApplication struct {
	meta   `json:"metadata"`
	Status struct {
		Sync struct {
			Revision string `json:"revision"`
		} `json:"sync"`
	} `json:"status"`
}

// costWork has the fields of a ManifestWork that the benchmark reads.
type costWork struct {
	meta   `json:"metadata"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
		ResourceStatus struct {
			Manifests []struct {
				StatusFeedback struct {
					Values []struct {
						Name       string `json:"name"`
						FieldValue struct {
							String string `json:"string"`
						} `json:"fieldValue"`
					} `json:"values"`
				} `json:"statusFeedback"`
			} `json:"manifests"`
		} `json:"resourceStatus"`
	} `json:"status"`
}

// revision returns the revision in the agent's feedback.
func (w *costWork) revision() string {
	for _, m := range w.Status.ResourceStatus.Manifests {
		for _, v := range m.StatusFeedback.Values {
			if v.Name == "syncRevision" {
				return v.FieldValue.String
			}
		}
	}
	return ""
}

func (w *costWork) available() bool {
	for _, c := range w.Status.Conditions {
		if c.Type == "Available" && c.Status == "True" {
			return true
		}
	}
	return false
}

// app returns the name of the Application of a work.
func (w *costWork) app() string {
	if name := w.Annotations[apis.AnnotationHubName]; name != "" {
		return name
	}
	return w.Name
}

// removed is the patch of the cluster's Argo CD after the removal of the deployed resources.
var removed = object{"metadata": object{"finalizers": nil}}

// look watches the Applications of a kind of delivery and their works. look also plays the cluster's Argo CD at the end
// of an Application.
func (c *agentCost) look(ctx context.Context) (*sightings, error) {
	s := &sightings{come: newNames(), gone: newNames(), available: newNames(), ended: newNames(), changes: newTracker(), last: time.Now()}
	prefix, plain := c.kind.name+"-", c.kind.path != applicationsPath
	index := func(name string) (i int) { _, _ = fmt.Sscanf(strings.TrimPrefix(name, prefix), "%d", &i); return i }
	err := watch(ctx, c.cluster, applicationsPath, c.failed, func(kind string, a *costApplication) {
		switch {
		case !strings.HasPrefix(a.Name, prefix):
		case kind == "DELETED":
			s.gone.add(a.Name)
		case a.DeletionTimestamp != "" && len(a.Finalizers) > 0:
			err := c.cluster.patch(ctx, applicationsPath+"/"+a.Name, removed)
			if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
				c.failed <- err
			}
		default:
			s.come.add(a.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	err = watch(ctx, c.hub, worksOf(c.fleet.Clusters()[0].Name()), c.failed, func(kind string, w *costWork) {
		s.mu.Lock()
		s.last = time.Now()
		s.mu.Unlock()
		app := w.app()
		switch {
		case !strings.HasPrefix(app, prefix):
			return
		case kind == "DELETED":
			s.ended.add(app)
		case w.available():
			s.available.add(app)
		}
		if plain {
			s.changes.saw(index(app), numberOf(w.revision()), time.Now())
		}
	})
	if err != nil || plain {
		return s, err
	}
	return s, watch(ctx, c.hub, applicationsPath, c.failed, func(_ string, a *costApplication) {
		if strings.HasPrefix(a.Name, prefix) {
			s.changes.saw(index(a.Name), numberOf(a.Status.Sync.Revision), time.Now())
		}
	})
}
