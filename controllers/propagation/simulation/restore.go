package simulation

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// snapshot is a backup of the hub.
type snapshot struct {
	objects    [kinds]map[key]*item
	version    int64
	namespaces map[string]bool
}

func (h *hub) snapshot() *snapshot {
	s := &snapshot{version: h.version, namespaces: maps.Clone(h.namespaces)}
	for k := range h.objects {
		s.objects[k] = maps.Clone(h.objects[k])
	}
	return s
}

// restore restores the hub: from etcd, with all objects and versions as before, or by Velero, with recreated objects.
// All readers of the hub are restarted afterwards, as Kubernetes demands.
func (w *World) restore(velero bool) {
	s := w.backup
	if s == nil {
		return
	}
	w.disaster = true
	h := w.hub
	h.namespaces = maps.Clone(s.namespaces)
	if velero {
		h.recreate(s)
	} else {
		h.version = s.version
		for k := range h.objects {
			h.objects[k] = maps.Clone(s.objects[k])
		}
	}
	h.log = [kinds][]change{}
	for _, p := range w.processes {
		p.cached = [kinds]map[key]*item{}
		p.start()
	}
	for _, c := range w.clusters {
		c.restartAgent()
	}
	w.oracle.restored()
}

// recreate creates the objects of a backup again: with new UIDs, generation 1, and no status. A deletion in progress is
// lost.
func (h *hub) recreate(s *snapshot) {
	for k := range h.objects {
		h.objects[k] = map[key]*item{}
		for _, at := range sortedKeys(s.objects[k]) {
			obj := s.objects[k][at].DeepCopyObject().(client.Object)
			obj.SetDeletionTimestamp(nil)
			_ = h.create(kind(k), obj, false) // fails in a namespace without a restore
		}
	}
}

// detach deletes a ManagedCluster. Open Cluster Management deletes the works and the namespace.
func (w *World) detach(c *cluster) {
	_ = w.hub.remove(managedClusters, key{Name: c.name}, nil)
	delete(w.hub.namespaces, c.name)
	_ = w.hub.remove(clusterNamespaces, key{Name: c.name}, nil)
	for _, at := range sortedKeys(w.hub.objects[works]) {
		if at.Namespace != c.name {
			continue
		}
		if c.connected {
			_ = w.hub.remove(works, at, nil)
			continue
		}
		out := w.hub.get(works, at).DeepCopyObject().(client.Object)
		now := w.metaNow()
		out.SetDeletionTimestamp(&now)
		out.SetFinalizers(nil)
		w.hub.put(works, out)
	}
	w.oracle.detached(c)
}

// byHand creates an Application on a cluster without the hub: equal to the delivered form of the Application, or
// different.
func (c *cluster) byHand(at key, equal bool) {
	if c.apps[at] != nil {
		return
	}
	a := c.place(at)
	path := key{Namespace: "hand", Name: at.Name}
	if equal {
		path = at
	}
	p, err := readPayload([]byte(`{"metadata":{"namespace":"` + at.Namespace + `","name":"` + at.Name + `"},"spec":` + string(spec(path, "v1")) + `}`))
	must(err)
	for _, f := range p.fields {
		a.set(f.name, f.value)
		a.managers[f.name] = map[string]bool{"kubectl": true}
	}
	c.handFinalizer(a, true)
	c.argo(at, true)
}

// editByHand changes the source of an Application on the cluster, like kubectl edit.
func (c *cluster) editByHand(a *placed) {
	source := a.spec["source"]
	if a.deleting || source == "" {
		return
	}
	a.set("spec:source", strings.Replace(source, `"targetRevision":"`+revisionIn(source), `"targetRevision":"edited`, 1))
	a.managers["spec:source"] = map[string]bool{"kubectl": true}
	c.touched(a)
}

// unfinalizeByHand removes Argo CD's finalizers on the cluster.
func (c *cluster) unfinalizeByHand(a *placed) {
	if a.deleting {
		return
	}
	for _, f := range a.finalizers {
		a.unset("finalizer:" + f)
	}
	c.touched(a)
}

// handFinalizer sets Argo CD's finalizer on the cluster as a person, or removes the finalizer if only a person has set
// it.
func (c *cluster) handFinalizer(a *placed, on bool) {
	field := "finalizer:" + apis.FinalizerResources
	owners := maps.Clone(a.managers[field])
	switch {
	case on:
		if a.deleting {
			return
		}
		if owners == nil {
			owners = map[string]bool{}
		}
		owners["kubectl"] = true
		a.set(field, apis.FinalizerResources)
		a.managers[field] = owners
	case owners["kubectl"]:
		delete(owners, "kubectl")
		a.managers[field] = owners
		if len(owners) == 0 {
			a.unset(field)
		}
	default:
		return
	}
	c.touched(a)
}

// setOf creates or updates the ApplicationSet of a namespace, with the given value of the pause annotation.
func (w *World) setOf(namespace, paused string) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	m.Namespace, m.Name = namespace, "set"
	if paused != "" {
		m.Annotations = map[string]string{apis.AnnotationPaused: paused}
	}
	if w.hub.create(applicationSets, m, false) == nil {
		return
	}
	must(w.hub.update(applicationSets, func(o client.Object) { o.SetAnnotations(m.Annotations) })(client.ObjectKeyFromObject(m)))
}
