package simulation

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/work"
)

// The actions of the hub's administrators: AppProjects, ManagedClusterSets and bindings, and obstacles for works.

const theSet = "theirs"

var projectKey = key{Namespace: argoNamespace, Name: "default"}

// rulers executes a step of an administrator. It returns false for any different step.
func (w *World) rulers(s *Step) bool {
	switch s.Op {
	case "project":
		w.rule(s.Who)
	case "bind":
		w.bind(s.Who, s.What != "off")
	case "set":
		w.editCluster(s.Who, func(mc *clusterv1.ManagedCluster) { mc.Labels = setLabel(mc.Labels, s.What) })
		w.noteRule("set "+s.Who, s.What == "out")
	case "accept":
		w.editCluster(s.Who, func(mc *clusterv1.ManagedCluster) { mc.Spec.HubAcceptsClient = s.What != "off" })
	case "dying":
		w.editCluster(s.Who, func(mc *clusterv1.ManagedCluster) { mc.Finalizers = []string{"theirs"} })
		_ = w.hub.remove(managedClusters, key{Name: s.Who}, nil)
	case "no-namespace":
		delete(w.hub.namespaces, s.Who)
	case "squat":
		w.squat(s.Who, s.What)
	case "dependencies":
		w.entangled[s.Who] = s.What == "hold"
		if s.What != "hold" {
			w.wakeAll()
		}
	case "hub-copy":
		w.hubCopy(keyNamed(s.Who), s.What != "off")
	case "rules":
		w.rules = nil
		if s.Who == "on" {
			w.rules = []authorization.NamespaceRule{{From: "*", To: "*"}}
		}
		for _, p := range w.processes {
			p.start()
		}
	case "older":
		w.older(keyNamed(s.Who), s.What)
	default:
		return false
	}
	w.ruled = true
	w.stats.verbs[s.Op]++
	return true
}

// rule changes the AppProject of all Applications.
func (w *World) rule(what string) {
	repos := `["*"]`
	if what == "narrow" {
		repos = `["https://git.example.com/others.git"]`
	}
	w.noteRule("project", what == "narrow")
	if what == "gone" {
		_ = w.hub.remove(projects, projectKey, nil)
		return
	}
	project := &argocd.AppProject{}
	project.Namespace, project.Name = projectKey.Namespace, projectKey.Name
	if what == "executor" {
		project.Annotations = map[string]string{apis.AnnotationExecutor: "nobody"}
	}
	must(json.Unmarshal([]byte(`{"sourceRepos":`+repos+`,"sourceNamespaces":["*"],"destinations":[{"server":"*","namespace":"*"}]}`), &project.Spec))
	if w.hub.create(projects, project, false) == nil {
		return
	}
	must(w.hub.update(projects, func(o client.Object) {
		p := o.(*argocd.AppProject)
		p.Annotations, p.Spec = project.Annotations, project.Spec
	})(projectKey))
}

// bind binds the set of all clusters to a namespace, or removes the binding.
func (w *World) bind(namespace string, on bool) {
	binding := &clusterv1beta2.ManagedClusterSetBinding{}
	binding.Namespace, binding.Name = namespace, theSet
	binding.Spec.ClusterSet = theSet
	if on {
		_ = w.hub.create(bindings, binding, false)
		return
	}
	_ = w.hub.remove(bindings, client.ObjectKeyFromObject(binding), nil)
}

// granting creates the ManagedClusterSet and the bindings, if rights depend on them.
func (w *World) granting() {
	if w.options.Clusters == grants.None {
		return
	}
	set := &clusterv1beta2.ManagedClusterSet{}
	set.Name = theSet
	_ = w.hub.create(clusterSets, set, false)
	for _, namespace := range []string{argoNamespace, "team-a"} {
		w.bind(namespace, true)
	}
}

func setLabel(before map[string]string, what string) map[string]string {
	out := clone(before)
	switch what {
	case "out":
		out[clusterv1beta2.ClusterSetLabel] = "others"
	case "none":
		delete(out, clusterv1beta2.ClusterSetLabel)
	default:
		out[clusterv1beta2.ClusterSetLabel] = theSet
	}
	return out
}

// refusal is the time since a rule refuses, and until when; until is zero while the rule refuses.
type refusal struct{ since, until time.Time }

// noteRule notes whether a rule refuses now.
func (w *World) noteRule(rule string, refuses bool) {
	r, known := w.refusing[rule]
	switch {
	case refuses && (!known || !r.until.IsZero()):
		w.refusing[rule] = refusal{since: w.now}
	case !refuses && known && r.until.IsZero():
		r.until = w.now
		w.refusing[rule] = r
	}
}

// revocable reports whether a rule has refused long enough for a removal from the cluster. A process may have read a
// refusal from a moment ago, so a recently ended refusal counts too.
func (w *World) revocable(c *cluster) bool {
	if !w.options.DeleteOnRevocation {
		return false
	}
	for _, rule := range []string{"project", "set " + c.name} {
		r, known := w.refusing[rule]
		fresh := r.until.IsZero() || w.now.Sub(r.until) < 10*time.Second
		long := w.now.Sub(r.since) >= time.Minute || w.processes[0].clock != 0 || w.processes[1].clock != 0
		if known && fresh && long {
			return true
		}
	}
	return false
}

// squat creates works of a stranger with the names of the Applications' works, or deletes these works.
func (w *World) squat(cluster, what string) {
	for _, at := range sortedKeys(w.hub.objects[works]) {
		if o := w.hub.get(works, at); what == "off" && at.Namespace == cluster && o.GetLabels()["squatter"] != "" {
			_ = w.hub.remove(works, at, nil)
		}
	}
	if what == "off" {
		return
	}
	for _, at := range sortedKeys(w.hub.objects[applications]) {
		m := &workv1.ManifestWork{}
		m.Namespace, m.Name = cluster, work.Name(w.hub.get(applications, at).(*argocd.Application))
		m.Labels = map[string]string{"squatter": "true"}
		m.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
			Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"x","name":"y"}}`),
		}}}
		_ = w.hub.create(works, m, false)
	}
}

// hubCopy creates or deletes an Application that belongs to the hub itself.
func (w *World) hubCopy(at key, on bool) {
	app := &argocd.Application{}
	app.APIVersion, app.Kind = argocd.GroupVersion.String(), argocd.Kind
	app.Namespace, app.Name = at.Namespace, at.Name
	app.Labels = map[string]string{"hub-copy": "true"}
	app.Spec.Raw = spec(at, "v1")
	if on {
		_ = w.hub.create(applications, app, false)
	} else if o := w.hub.get(applications, at); o != nil && o.GetLabels()["hub-copy"] != "" {
		_ = w.hub.remove(applications, at, nil)
	}
}

// wakeAll queues all Applications after a change of the works with dependencies.
func (w *World) wakeAll() {
	for _, p := range w.processes {
		for _, at := range sortedKeys(p.cached[applications]) {
			p.sends.Add(request(at))
		}
		for _, at := range sortedKeys(p.hidden) {
			p.sends.Add(request(at))
		}
		for _, at := range sortedKeys(p.cached[works]) { // of deleted Applications
			if app, named := work.HubApplication(p.cached[works][at].Object); named {
				p.sends.Add(request(app))
			}
		}
	}
}

// dependencies are the dependencies of Applications on clusters.
type dependencies struct{ world *World }

// Released reports whether the dependencies stay on the cluster without the work.
func (d dependencies) Released(_ context.Context, m *workv1.ManifestWork) (bool, error) {
	return !d.world.entangled[m.Namespace], nil
}

// Lead does nothing: the simulation has no AppProjects.
func (dependencies) Lead(context.Context, *workv1.ManifestWork) error { return nil }

// unreadable reports whether Towline cannot read the request of an Application.
func unreadable(app *argocd.Application) bool {
	return strings.Contains(app.Cluster()+app.ClusterNamespace(), "_") || argocd.Unreadable(app.Annotations, apis.AnnotationRelease) ||
		strings.Contains(string(app.Spec.Raw), `"project":7`) || len(app.Spec.Raw) > work.MaxPayload ||
		app.Annotations[apis.AnnotationSource] == apis.SourceHub && strings.Contains(string(app.Spec.Raw), `"chart"`)
}

// odd reports whether an operation must not run.
func odd(operation *runtime.RawExtension) bool {
	return operation != nil && (strings.Contains(string(operation.Raw), `"manifests"`) || strings.Contains(string(operation.Raw), `"info":7`))
}

// reconciled removes all obstacles by administrators.
func (w *World) reconciled() {
	if !w.ruled {
		return
	}
	w.rule("wide")
	w.granting()
	for _, c := range w.clusters {
		w.hub.namespaces[c.name] = w.hub.namespaces[c.name] || w.hub.objects[managedClusters][key{Name: c.name}] != nil
		if !w.hub.namespaces[c.name] {
			delete(w.hub.namespaces, c.name)
		}
		w.editCluster(c.name, func(mc *clusterv1.ManagedCluster) {
			mc.Spec.HubAcceptsClient = true
			if w.options.Clusters != grants.None {
				mc.Labels = setLabel(mc.Labels, "")
			}
		})
		w.noteRule("set "+c.name, false)
		w.squat(c.name, "off")
	}
	for _, at := range sortedKeys(w.hub.objects[applications]) {
		w.hubCopy(at, false)
	}
	if len(w.entangled) > 0 {
		clear(w.entangled)
		w.wakeAll()
	}
}

// goes reports whether a ManagedCluster is being deleted.
func (w *World) goes(c *cluster) bool {
	mc := w.hub.objects[managedClusters][key{Name: c.name}]
	return mc != nil && mc.GetDeletionTimestamp() != nil
}
