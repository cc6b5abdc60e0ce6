package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestro"
)

// Resource is the name of works in errors.
var Resource = workv1.Resource("manifestworks")

// outcomeTimeout is how long the mirror tries to read the result of a write with a lost answer.
const outcomeTimeout = 10 * time.Second

// sameSecond is how long a request for an operation waits after the start of an earlier operation. Two operations are
// distinguished by the second of the start.
const sameSecond = time.Second

// Create writes a new work. Create fails with AlreadyExists if the namespace has a work of the same name.
func (m *Mirror) Create(ctx context.Context, w *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	name := types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
	defer m.lock(name)()
	if err := m.MayWrite(); err != nil {
		return nil, notLeading(err)
	}
	if m.store.get(name) != nil {
		return nil, apierrors.NewAlreadyExists(Resource, w.Name)
	}
	if err := m.knowCluster(ctx, w.Namespace); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	now := time.Now()
	w.CreationTimestamp = metav1.NewTime(now.UTC().Truncate(time.Second))
	w.Finalizers = []string{workv1.ManifestWorkFinalizer}
	made := bundle.New(m.IDs, w, now)
	err := m.publish(ctx, cetypes.CreateRequestAction, made)
	if err == nil {
		m.take(made)
		return m.Known(name), nil
	}
	m.forgetCluster(w.Namespace) // a restored database may lack the cluster
	there, unknown := m.afterFailure(ctx, made.ID, name)
	switch {
	case unknown != nil:
		return nil, apierrors.NewTimeoutError(fmt.Sprintf("Maestro did not confirm the creation of the work: %v", err), 1)
	case there != nil && there.UID == w.UID:
		return there, nil
	case there != nil:
		return nil, apierrors.NewAlreadyExists(Resource, w.Name)
	}
	return nil, refused(err, name)
}

// Update writes w over was, the version of the work read by the client. Update fails with a conflict if the mirror or
// Maestro has a different version.
func (m *Mirror) Update(ctx context.Context, was, w *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	name := types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
	defer m.lock(name)()
	if err := m.MayWrite(); err != nil {
		return nil, notLeading(err)
	}
	known := m.store.get(name)
	if err := meets(known, was, name); err != nil {
		return nil, err
	}
	if !known.Work.DeletionTimestamp.IsZero() {
		return nil, apierrors.NewConflict(Resource, w.Name, errors.New("the work is being deleted, and Maestro changes no such work"))
	}
	next, err := known.Next(m.IDs, w)
	if err != nil {
		return nil, untranslated(err, name)
	}
	if next.Requests() && known.Began() != "" && time.Since(known.Told) < sameSecond {
		return nil, apierrors.NewConflict(Resource, w.Name, errors.New("an operation has begun on the cluster within the last second: try again"))
	}
	action := cetypes.UpdateRequestAction
	if next.Shape != known.Shape {
		action = cetypes.CreateRequestAction
	}
	err = m.publish(ctx, action, next)
	if err == nil {
		w.Status, w.ManagedFields = known.Work.Status, known.Work.ManagedFields
		m.take(next)
		return m.Known(name), nil
	}
	there, unknown := m.afterFailure(ctx, next.ID, name)
	switch {
	case unknown != nil:
		return nil, apierrors.NewTimeoutError(fmt.Sprintf("Maestro did not confirm the change of the work: %v", err), 1)
	case there == nil:
		return nil, apierrors.NewNotFound(Resource, w.Name)
	case m.store.get(name).Version != known.Version || there.UID != known.Work.UID || !there.DeletionTimestamp.IsZero():
		// The different version may come from the write with the lost answer. A client sees the result in the next
		// read.
		return nil, apierrors.NewConflict(Resource, w.Name, errors.New("Maestro has another version of the work"))
	}
	return nil, refused(err, name)
}

// Delete asks Maestro to delete a work, if was is still the present version of the work. The work stays until the agent
// has answered.
func (m *Mirror) Delete(ctx context.Context, was *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	name := types.NamespacedName{Namespace: was.Namespace, Name: was.Name}
	defer m.lock(name)()
	if err := m.MayWrite(); err != nil {
		return nil, notLeading(err)
	}
	if known := m.store.get(name); known != nil && known.Work.UID == was.UID && !known.Work.DeletionTimestamp.IsZero() {
		return known.Work, nil
	}
	// Maestro deletes any bundle with the id. Only a write of a second process makes Maestro's bundle newer than the
	// mirror's bundle.
	if err := m.readShown(ctx, name); err != nil {
		return nil, apierrors.NewTimeoutError("Maestro cannot be read before the deletion: "+err.Error(), 1)
	}
	known := m.store.get(name)
	if err := meets(known, was, name); err != nil {
		return nil, err
	}
	past := m.store.pastOf(name)
	for _, b := range past {
		if b.Work.DeletionTimestamp.IsZero() && !b.MayGo(known) {
			m.stale.Add(b.ID)
			return nil, apierrors.NewConflict(Resource, was.Name, errors.New("the agent still has objects of the former work: try again"))
		}
	}
	// The work is gone with the last bundle. For this reason, the shown bundle is deleted last.
	for _, b := range append(past, known) {
		if err := m.delete(ctx, b); err != nil {
			return nil, err
		}
	}
	return m.Known(name), nil
}

// delete asks Maestro to delete a bundle. The caller has the lock of the work.
func (m *Mirror) delete(ctx context.Context, b *bundle.Bundle) error {
	id := b.ID
	err := m.publish(ctx, cetypes.DeleteRequestAction, b)
	_, unknown := m.afterFailure(ctx, id, b.Name())
	now := m.store.byID(id)
	switch {
	case unknown != nil:
		return apierrors.NewTimeoutError(fmt.Sprintf("Maestro did not confirm the deletion of the work: %v, %v", err, unknown), 1)
	case now == nil || !now.Work.DeletionTimestamp.IsZero():
		return nil
	case err == nil:
		return apierrors.NewInternalError(errors.New("Maestro has accepted the deletion of the work, but does not show the deletion"))
	}
	return refused(err, b.Name())
}

// notLeading returns the answer to a write that a different process may carry out: try again.
func notLeading(err error) error { return apierrors.NewServiceUnavailable(err.Error() + ": try again") }

// untranslated returns the answer to a write without a translation for agents: a bad request for a *bundle.Refusal, and
// otherwise a conflict.
func untranslated(err error, name types.NamespacedName) error {
	if _, is := errors.AsType[*bundle.Refusal](err); is {
		return apierrors.NewBadRequest("work " + name.String() + ": " + err.Error())
	}
	return apierrors.NewConflict(Resource, name.Name, err)
}

// meets returns an error unless the mirror has the work in the version read by the client.
func meets(known *bundle.Bundle, was *workv1.ManifestWork, name types.NamespacedName) error {
	switch {
	case known == nil:
		return apierrors.NewNotFound(Resource, name.Name)
	case known.Work.UID != was.UID:
		return apierrors.NewConflict(Resource, name.Name, fmt.Errorf("the UID is %s, not %s", known.Work.UID, was.UID))
	case known.Work.ResourceVersion != was.ResourceVersion:
		return apierrors.NewConflict(Resource, name.Name, errors.New("the work has changed: read the work again"))
	}
	return nil
}

// publish asks Maestro to store a bundle, or to delete the bundle.
func (m *Mirror) publish(ctx context.Context, action cetypes.EventAction, b *bundle.Bundle) error {
	if err := m.MayWrite(); err != nil {
		return err
	}
	if action == cetypes.DeleteRequestAction {
		m.removals.request(b.ID)
	}
	event, err := bundle.Event(m.source, action, b)
	if err != nil {
		return err
	}
	return m.maestro.Publish(ctx, event)
}

// afterFailure reads a bundle, and returns the work in the mirror after the read, or nil. If the read fails, the result
// of the write is unknown. The read ignores a cancellation by the client.
func (m *Mirror) afterFailure(ctx context.Context, id string, name types.NamespacedName) (*workv1.ManifestWork, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeTimeout)
	defer cancel()
	if err := m.read(ctx, id); err != nil {
		m.stale.AddRateLimited(id)
		return nil, err
	}
	return m.Known(name), nil
}

// knowCluster makes Maestro accept works for a cluster.
func (m *Mirror) knowCluster(ctx context.Context, cluster string) error {
	m.mu.Lock()
	known := m.clusters[cluster]
	m.mu.Unlock()
	if known {
		return nil
	}
	if err := m.maestro.AddCluster(ctx, cluster); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusters[cluster] = true
	return nil
}

func (m *Mirror) forgetCluster(cluster string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, cluster)
}

// refused returns the answer to a write that Maestro has not carried out.
func refused(err error, name types.NamespacedName) error {
	switch {
	case maestro.Unreachable(err):
		return apierrors.NewServiceUnavailable("Maestro does not answer: " + err.Error())
	// The text comes from Maestro's validation. The status code is the same for all failures.
	case strings.Contains(err.Error(), "is invalid"):
		return apierrors.NewBadRequest("Maestro refuses work " + name.String() + ": " + err.Error())
	}
	return apierrors.NewInternalError(fmt.Errorf("Maestro refuses work %s: %w", name, err))
}
