package agent

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Unmanaged is the reason of the event on an Application without a ManifestWork on the hub.
const Unmanaged = "Unmanaged"

// unmanaged knows the Applications with the mark of a ManifestWork unknown to the hub. The hub has released such an
// Application, or has removed the Application before a backup of the cluster restored the Application. The agent does
// not change such an Application.
type unmanaged struct {
	events events.EventRecorder

	mu    sync.Mutex
	owned map[types.NamespacedName]string
	known map[types.NamespacedName]string
}

// noteManaged records an Application whose ManifestWork the hub may have. With owned, the work agent owns the Application.
func (u *unmanaged) noteManaged(key types.NamespacedName, name string, owned bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if owned {
		u.owned = set(u.owned, key, name)
	}
	delete(u.known, key)
	unmanagedApplications.Set(float64(len(u.known)))
}

// note records that the hub has no ManifestWork of the given name, and sends an event once. If the work agent owned the
// Application before, the hub has released the Application, and note sends no event.
func (u *unmanaged) note(key types.NamespacedName, name string, app *argocd.Application) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known[key] == name {
		return
	}
	u.known = set(u.known, key, name)
	unmanagedApplications.Set(float64(len(u.known)))
	if u.owned[key] == name {
		return
	}
	u.events.Eventf(app, nil, corev1.EventTypeWarning, Unmanaged, "Report",
		"The hub has no ManifestWork %s, which this Application came with: nobody manages the Application from the hub. It was released, or a backup "+
			"brought it back after its removal. To remove it, delete it: with Argo CD's finalizer, the workload goes too. To keep it here, "+
			"remove the label %s. To manage it from the hub, create its Application there", name, apis.LabelPulled)
}

// forget drops a deleted or unmarked Application.
func (u *unmanaged) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.owned, key)
	delete(u.known, key)
	unmanagedApplications.Set(float64(len(u.known)))
}

func set(in map[types.NamespacedName]string, key types.NamespacedName, name string) map[types.NamespacedName]string {
	if in == nil {
		in = map[types.NamespacedName]string{}
	}
	in[key] = name
	return in
}
