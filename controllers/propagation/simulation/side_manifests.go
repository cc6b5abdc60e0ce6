package simulation

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/propagation"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// Works of older controllers, and the objects beside the Application in these works: the namespace and the AppProject.

// sideManifestsOf returns the objects beside the Application in a work, and whether the agent owns each object, by the rules
// of helper.OwnedByTheWork.
func sideManifestsOf(w *workv1.ManifestWork) map[string]bool {
	if len(w.Spec.Workload.Manifests) < 2 {
		return nil
	}
	out := map[string]bool{}
	for _, m := range w.Spec.Workload.Manifests {
		var held metav1.PartialObjectMetadata
		must(json.Unmarshal(m.Raw, &held))
		if held.Kind == argocd.Kind {
			continue
		}
		owns := true
		if o := w.Spec.DeleteOption; o != nil {
			owns = o.PropagationPolicy != workv1.DeletePropagationPolicyTypeOrphan
			if rules := o.SelectivelyOrphan; rules != nil && owns {
				owns = !slices.ContainsFunc(rules.OrphaningRules, func(r workv1.OrphaningRule) bool {
					return r.Name == held.Name && r.Namespace == held.Namespace
				})
			}
		}
		out[held.Kind+" "+held.Namespace+"/"+held.Name] = owns
	}
	return out
}

// applicationIn returns the manifest of the Application in a work.
func applicationIn(w *workv1.ManifestWork) []byte {
	all := w.Spec.Workload.Manifests
	for _, m := range all[:len(all)-1] {
		var held metav1.TypeMeta
		if len(all) > 1 && json.Unmarshal(m.Raw, &held) == nil && held.Kind == argocd.Kind {
			return m.Raw
		}
	}
	return all[len(all)-1].Raw
}

// applySideManifests applies the objects beside the Application, by the strategy Update, and deletes objects that left the work.
func (c *cluster) applySideManifests(w *workv1.ManifestWork, applied *appliedWork) {
	held := sideManifestsOf(w)
	for _, name := range sortedNames(held) {
		owners := slices.DeleteFunc(slices.Clone(c.others[name]), func(o string) bool { return o == applied.uid })
		if held[name] {
			owners = append(owners, applied.uid)
		}
		c.others[name] = owners
	}
	for _, name := range applied.others {
		if _, still := held[name]; !still {
			c.dropSideManifest(name, applied)
		}
	}
	applied.others = sortedNames(held)
}

// dropSideManifest is helper.DeleteAppliedResources for an object beside the Application.
func (c *cluster) dropSideManifest(name string, applied *appliedWork) {
	owners := c.others[name]
	switch {
	case !slices.Contains(owners, applied.uid):
	case len(owners) > 1:
		c.others[name] = slices.DeleteFunc(slices.Clone(owners), func(o string) bool { return o == applied.uid })
	default:
		delete(c.others, name)
		c.world.fail("side manifests", "%s was deleted from %s, with all that is in it", name, c.name)
	}
}

// older creates the work of an Application like the controllers before Towline, in one of several forms. An "early"
// work has no ManifestConfigs and only the Application. A "disabled" work was set to ReadOnly. An "unruled" work has no
// DeleteOption: after a deletion, the agent would remove all objects of the work.
func (w *World) older(at key, how string) {
	app, ok := w.hub.get(applications, at).(*argocd.Application)
	if !ok || app.Cluster() == "" || w.cluster(app.Cluster()) == nil || len(w.oracle.worksOf(at)) > 0 || w.steps > 2 {
		return // the older controllers are not running any more
	}
	m, err := work.Render(app, work.Requests{})
	if err != nil {
		return
	}
	m.Spec.Workload.Manifests[0].Raw = unmarked(m.Spec.Workload.Manifests[0].Raw)
	delete(m.Annotations, apis.AnnotationUpdateMode)
	if _, ofSet := app.ApplicationSet(); ofSet {
		delete(m.Labels, apis.LabelPull)
	}
	switch how {
	case "early":
		m.Spec.ManifestConfigs = nil
	default:
		m.Spec.Workload.Manifests = append([]workv1.Manifest{
			manifestOf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + app.ClusterNamespace() + `"}}`),
			manifestOf(`{"apiVersion":"argoproj.io/v1alpha1","kind":"AppProject","metadata":{"name":"default","namespace":"` +
				app.ClusterNamespace() + `"}}`),
		}, m.Spec.Workload.Manifests...)
		m.Spec.DeleteOption = &workv1.DeleteOption{
			PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
			SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: []workv1.OrphaningRule{
				{Resource: "namespaces", Name: app.ClusterNamespace()},
				{Group: argocd.GroupVersion.Group, Resource: "appprojects", Namespace: app.ClusterNamespace(), Name: "default"},
			}},
		}
	}
	if how == "unruled" {
		m.Spec.DeleteOption = nil
	}
	if w.hub.create(works, m, false) != nil {
		return
	}
	w.bring(m)
	if how == "disabled" {
		w.disable(m.Namespace)
	}
	for _, p := range w.processes {
		p.findOlder()
	}
}

// disable plays the start of an older controller with a disabled pull model: the controller sets all works of a cluster
// to ReadOnly, including Towline's works.
func (w *World) disable(cluster string) {
	for _, at := range sortedKeys(w.hub.objects[works]) {
		m := w.hub.get(works, at).(*workv1.ManifestWork)
		pulled := m.Labels[apis.LabelApplicationSet] == "true" || m.Labels[apis.LabelPull] == "true"
		if at.Namespace != cluster || !pulled || m.Annotations[apis.AnnotationHubName] == "" || len(m.Spec.ManifestConfigs) == 0 || work.IsReadOnly(m) {
			continue
		}
		must(w.hub.update(works, func(o client.Object) {
			spec := &o.(*workv1.ManifestWork).Spec
			spec.ManifestConfigs = slices.Clone(spec.ManifestConfigs)
			spec.ManifestConfigs[0].UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly}
		})(at))
	}
}

// bring lets the agent apply a work, because the older controllers have been running for long.
func (w *World) bring(m *workv1.ManifestWork) {
	c := w.cluster(m.Namespace)
	if !c.connected || c.failing {
		return
	}
	for range 8 {
		c.hear(m.Name)
		for _, what := range []controller{addFinalizer, applyManifests, reportStatus} {
			if c.todo[m.Name]&what != 0 {
				c.work(m.Name, what)
			}
		}
	}
}

func manifestOf(text string) workv1.Manifest {
	return workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(text)}}
}

// unmarked returns an Application without Towline's marks for delivered Applications.
func unmarked(raw []byte) []byte {
	var o map[string]any
	must(json.Unmarshal(raw, &o))
	meta := o["metadata"].(map[string]any)
	for _, of := range []string{"labels", "annotations"} {
		if marks, is := meta[of].(map[string]any); is {
			delete(marks, apis.LabelPulled)
			delete(marks, apis.AnnotationWork)
		}
	}
	out, err := json.Marshal(o)
	must(err)
	return out
}

// findOlder plays the begin of a process as the leader: it lists the works without the label by which the cache
// selects.
func (p *process) findOlder() {
	if !p.leads {
		return
	}
	for _, at := range sortedKeys(p.world.hub.objects[works]) {
		i := p.world.hub.objects[works][at]
		if app, is := propagation.NoteOlder(p.sender, i.Object); is {
			p.sends.Add(request(app))
		}
	}
}
