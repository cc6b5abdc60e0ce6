package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// Fault is a fault of a write by the controller.
type Fault string

// The faults of a write.
const (
	noFault     Fault = ""
	crashBefore Fault = "crash-before"
	crashAfter  Fault = "crash-after"
	conflict    Fault = "conflict"
	lostAnswer  Fault = "lost-answer"
)

var writeFaults = []Fault{crashBefore, crashAfter, conflict, lostAnswer}

// Step is one event. A step that is impossible in the current state of the world does nothing. So steps can be removed
// from a schedule.
type Step struct {
	// Op is the event. Who is the actor or the affected object. What is the object or the value.
	Op, Who, What string

	// At is the number of the read or write of a reconcile before which Inner happens. From this number on, the next
	// write gets Fault.
	At    int
	Fault Fault
	Inner []Step
}

// String returns the step as a line of a script.
func (s Step) String() string {
	out := strings.TrimRight(s.Op+" "+s.Who+" "+s.What, " ")
	if s.Fault != noFault || len(s.Inner) > 0 {
		out += fmt.Sprintf(" at %d", s.At)
	}
	if s.Fault != noFault {
		out += " " + string(s.Fault)
	}
	if len(s.Inner) > 0 {
		inner := make([]string, len(s.Inner))
		for i := range s.Inner {
			inner[i] = s.Inner[i].String()
		}
		out += " { " + strings.Join(inner, "; ") + " }"
	}
	return out
}

// Script returns a schedule as text, with one step for each line.
func Script(steps []Step) string {
	lines := make([]string, len(steps))
	for i := range steps {
		lines[i] = steps[i].String()
	}
	return strings.Join(lines, "\n")
}

// do runs one step.
func (w *World) do(s *Step) {
	if w.failure != nil {
		return
	}
	w.steps++
	w.tick()
	switch {
	case w.machinery(s), w.mishap(s), w.user(s), w.rulers(s):
	default:
		panic("no such step: " + s.String())
	}
}

// machinery runs a step of controllers and agents. It returns false for any different step.
func (w *World) machinery(s *Step) bool {
	switch s.Op {
	case "settle":
		w.settle()
	case "wait":
		d, err := time.ParseDuration(s.Who)
		must(err)
		w.advance(d)
	case "place":
		w.place()
	case "generate":
		w.generate()
	default:
		return w.ofProcess(s) || w.ofCluster(s)
	}
	return true
}

// ofProcess runs a step of a process.
func (w *World) ofProcess(s *Step) bool {
	switch s.Op {
	case "deliver":
		if p, at := w.process(s.Who), streamNamed(s.What); p.behind(at) {
			p.deliver(at)
		}
	case "reconcile":
		if p, at := w.process(s.Who), keyNamed(s.What); p.leads && p.call == nil && slices.Contains(p.sends.ready, at) {
			if p.reconcile(at, s) {
				p.start()
			}
		}
	case "status":
		if p, at := w.process(s.Who), keyNamed(s.What); p.leads && p.call == nil && slices.Contains(p.reports.ready, at) {
			p.report(at, s)
		}
	case "catch-up":
		w.process(s.Who).catchUp()
	case "turn":
		w.process(s.Who).catchUp()
		w.process(s.Who).drain()
	default:
		return false
	}
	return true
}

// ofCluster runs a step of a cluster's agent and Argo CD.
func (w *World) ofCluster(s *Step) bool {
	switch s.Op {
	case "hear":
		if c := w.cluster(s.Who); c.connected && c.news[s.What] {
			c.hear(s.What)
		}
	case "agent":
		if c := w.cluster(s.Who); c.connected {
			c.workNext(s.What)
		}
	case "argo", "finish":
		if c, at := w.cluster(s.Who), keyNamed(s.What); !c.failing && c.apps[at] != nil {
			c.argo(at, s.Op == "finish")
		}
	case "collect":
		if c := w.cluster(s.Who); c.garbage && !c.failing {
			c.collect()
		}
	case "round":
		w.cluster(s.Who).round()
	default:
		return false
	}
	return true
}

// workNext runs the first of the agent's queued controllers for a work.
func (c *cluster) workNext(name string) {
	for what := addFinalizer; what <= finalizeApplied; what <<= 1 {
		if c.todo[name]&what != 0 {
			c.work(name, what)
			return
		}
	}
}

// mishap runs a step with a failure.
func (w *World) mishap(s *Step) bool {
	if !w.wrong(s) {
		return false
	}
	if !w.resting {
		w.stats.faults[Fault(s.Op)]++
	}
	return true
}

func (w *World) wrong(s *Step) bool {
	switch s.Op {
	case "crash":
		w.process(s.Who).start()
	case "relist":
		w.process(s.Who).relist()
	case "lead":
		for _, p := range w.processes {
			if p.leads = p.name == s.Who; p.leads {
				p.start()
			}
		}
	case "lead-too":
		if p := w.process(s.Who); !p.leads {
			p.leads = true
			p.start()
		}
	case "skew":
		w.process(s.Who).clock = 90 * time.Second
	case "disconnect", "connect":
		w.connect(w.cluster(s.Who), s.Op == "connect")
	case "fail", "mend":
		w.cluster(s.Who).failing = s.Op == "fail"
	case "sync":
		for _, at := range sortedKeys(w.cluster(s.Who).apps) {
			w.cluster(s.Who).sync(w.cluster(s.Who).apps[at])
		}
	case "disable":
		w.disable(s.Who)
	case "restart-agent":
		w.cluster(s.Who).upgradeAgent()
	case "rebuild":
		w.disaster = true
		w.cluster(s.Who).rebuild()
	case "backup":
		w.backup = w.hub.snapshot()
	case "restore-etcd":
		w.restore(false)
	case "restore-velero":
		w.restore(true)
	case "detach":
		w.disaster = true
		w.detach(w.cluster(s.Who))
	case "join":
		if w.hub.objects[managedClusters][key{Name: s.Who}] == nil {
			w.join(s.Who)
		}
	default:
		return false
	}
	return true
}

// connect makes a cluster available or unavailable.
func (w *World) connect(c *cluster, connected bool) {
	c.connected = connected
	w.editCluster(c.name, func(mc *clusterv1.ManagedCluster) {
		for i := range mc.Status.Conditions {
			if t := &mc.Status.Conditions[i]; t.Type == clusterv1.ManagedClusterConditionAvailable {
				t.Status, t.LastTransitionTime = metav1.ConditionUnknown, w.metaNow()
				if connected {
					t.Status = metav1.ConditionTrue
				}
			}
		}
	})
}

// rebuild plays a rebuilt cluster with the same name.
func (c *cluster) rebuild() {
	c.version = 0
	c.empty()
	c.restartAgent()
}

func (w *World) editCluster(name string, edit func(*clusterv1.ManagedCluster)) {
	err := w.hub.update(managedClusters, func(o client.Object) { edit(o.(*clusterv1.ManagedCluster)) })(key{Name: name})
	_ = err // the ManagedCluster may be gone
}

func streamNamed(name string) stream {
	if name == "unlabelled" {
		return unlabelled
	}
	return stream(slices.Index(kindNames[:], name))
}

func (s stream) String() string {
	if s == unlabelled {
		return "unlabelled"
	}
	return kindNames[s]
}

func keyNamed(name string) key {
	namespace, name, _ := strings.Cut(name, "/")
	return key{Namespace: namespace, Name: name}
}

// annotations are the annotations that users set, by the name of the step.
var annotations = map[string]string{
	"move": apis.AnnotationCluster, "namespace": apis.AnnotationAppNamespace, "release": apis.AnnotationRelease,
	"pause": apis.AnnotationPaused, "force": apis.AnnotationForceDelete, "skip": apis.AnnotationSkipReconcile,
	"refresh": apis.AnnotationRefresh, "adopt": apis.AnnotationAdopt,
	"delete-on-outage": apis.AnnotationDeleteOnOutage, "destination": apis.AnnotationDestinationServer, "source": apis.AnnotationSource,
}

// user runs a step of a user: a verb of docs/lifecycle.md.
func (w *World) user(s *Step) bool {
	if name, is := annotations[s.Op]; is {
		value := s.What
		if s.Op == "force" {
			value = "true"
		}
		w.annotate(keyNamed(s.Who), name, value)
	} else if !w.asks(s) && !w.thereOrForAll(s) {
		return false
	}
	if !w.resting {
		w.stats.verbs[s.Op]++
	}
	return true
}

// annotate sets an annotation, or removes the annotation for an empty value.
func (w *World) annotate(at key, name, value string) {
	if app, ok := w.hub.get(applications, at).(*argocd.Application); ok && app.Annotations[name] == value {
		if _, has := app.Annotations[name]; has == (value != "") {
			return
		}
	}
	w.edit(at, func(app *argocd.Application) {
		app.Annotations = clone(app.Annotations)
		if value == "" {
			delete(app.Annotations, name)
		} else {
			app.Annotations[name] = value
		}
	})
}

// asks runs a step of an Application's owner.
func (w *World) asks(s *Step) bool {
	at := keyNamed(s.Who)
	switch s.Op {
	case "create":
		w.createApplication(at, strings.Fields(s.What))
	case "recreate":
		w.oracle.deletes(at, false)
		if _ = w.hub.remove(applications, at, nil); w.hub.objects[applications][at] == nil {
			w.createApplication(at, strings.Fields(s.What))
		}
	case "label":
		w.edit(at, func(app *argocd.Application) {
			app.Labels = clone(app.Labels)
			if s.What == "" {
				delete(app.Labels, apis.LabelPull)
			} else {
				app.Labels[apis.LabelPull] = s.What
			}
		})
	case "finalizers":
		w.oracle.stripped(at, s.What == "")
		w.edit(at, func(app *argocd.Application) {
			switch {
			case s.What == "":
				app.Finalizers = nil
			case app.DeletionTimestamp.IsZero():
				app.Finalizers = []string{apis.FinalizerResources}
			}
		})
	case "spec":
		w.edit(at, func(app *argocd.Application) { app.Spec.Raw = spec(at, s.What) })
	case "operation":
		w.edit(at, func(app *argocd.Application) {
			app.Operation = &runtime.RawExtension{Raw: operationOf(s.What)}
		})
	case "hub-sync":
		w.edit(at, func(app *argocd.Application) { hubSync(app, s.What != "off") })
	case "withdraw":
		w.edit(at, func(app *argocd.Application) { app.Operation = nil })
	case "terminate":
		w.edit(at, func(app *argocd.Application) {
			if o := app.Status.OperationState; o != nil && o.Phase == "Running" {
				out := *o
				out.Phase = "Terminating"
				app.Status.OperationState = &out
			}
		})
	case "delete":
		w.oracle.deletes(at, false)
		_ = w.hub.remove(applications, at, nil)
	default:
		return false
	}
	return true
}

// thereOrForAll runs a step of people on clusters, or a pause of more than one Application.
func (w *World) thereOrForAll(s *Step) bool {
	switch s.Op {
	case "hand-finalizer":
		if c := w.cluster(s.Who); c.apps[keyNamed(s.What)] != nil {
			c.handFinalizer(c.apps[keyNamed(s.What)], true)
		}
	case "edit-there":
		if c := w.cluster(s.Who); c.apps[keyNamed(s.What)] != nil {
			c.editByHand(c.apps[keyNamed(s.What)])
		}
	case "unfinalize-there":
		if c := w.cluster(s.Who); c.apps[keyNamed(s.What)] != nil {
			c.unfinalizeByHand(c.apps[keyNamed(s.What)])
		}
	case "by-hand":
		w.cluster(s.Who).byHand(keyNamed(strings.Fields(s.What)[0]), strings.HasSuffix(s.What, " equal"))
	case "drop":
		w.drop(s.Who, s.What != "off")
	case "unfollow":
		w.unfollow()
	case "set-controller":
		w.stopSets(s.Who == "off")
	case "pause-set":
		w.setOf(s.Who, s.What)
	case "pause-cluster":
		annotations := map[string]string{apis.AnnotationPaused: s.What}
		if s.What == "" {
			annotations = nil
		}
		if ns := w.hub.get(clusterNamespaces, key{Name: s.Who}); ns != nil && maps.Equal(ns.GetAnnotations(), annotations) {
			return true
		}
		_ = w.hub.update(clusterNamespaces, func(o client.Object) { o.SetAnnotations(annotations) })(key{Name: s.Who}) // the namespace may be gone
	default:
		return false
	}
	return true
}

// edit is a write by a user.
func (w *World) edit(at key, edit func(*argocd.Application)) {
	before, ok := w.hub.get(applications, at).(*argocd.Application)
	if !ok {
		return
	}
	after := *before // edits replace values instead of changing shared memory
	edit(&after)
	_ = w.hub.replace(applications, before, &after)
}

func clone(m map[string]string) map[string]string {
	out := make(map[string]string, len(m)+1)
	maps.Copy(out, m)
	return out
}

// operationOf returns the operation with the given name, or an operation that must not run.
func operationOf(name string) []byte {
	switch name {
	case "forbidden":
		return []byte(`{"sync":{"manifests":["{}"]}}`)
	case "invalid":
		return []byte(`{"sync":{},"info":7}`)
	}
	return []byte(`{"sync":{"revision":"` + name + `"}}`)
}

// spec returns the spec with the given revision, or a spec that Towline cannot send.
func spec(at key, revision string) []byte {
	history := ""
	switch revision {
	case "bad":
		return []byte(`{"project":7}`)
	case "chart":
		return []byte(`{"project":"default","source":{"repoURL":"https://charts.example.com","chart":"c","targetRevision":"1"},` +
			`"destination":{"server":"https://kubernetes.default.svc","namespace":"guestbook"}}`)
	case "large":
		revision = strings.Repeat("x", work.MaxPayload)
	case "text", "typed": // the same text as printed by Go
		history = map[string]string{"text": `"revisionHistoryLimit":"5",`, "typed": `"revisionHistoryLimit":5,`}[revision]
		revision = "v1"
	}
	destination := `"server":"https://kubernetes.default.svc"`
	if strings.Contains(revision, push) {
		destination = `"name":"c1"`
	}
	policy := ""
	if strings.HasSuffix(revision, auto) {
		policy = `,"syncPolicy":{"automated":{}}`
	}
	return []byte(`{` + history + `"project":"default","source":{"repoURL":"https://git.example.com/apps.git","path":"` + at.String() +
		`","targetRevision":"` + revision + `"},"destination":{` + destination + `,"namespace":"guestbook"}` + policy + `}`)
}

// push marks the revisions of Applications that the hub's own Argo CD deploys to cluster c1, if nothing prevents the
// deployment.
const push = "-push"

// hubSync plays a sync of the hub's own Argo CD: begun if runs is true, otherwise ended.
func hubSync(app *argocd.Application, runs bool) {
	app.Status.Pushed, app.Operation = true, nil
	app.Status.OperationState = &argocd.OperationState{Phase: "Succeeded", StartedAt: "2026-01-01T00:00:00Z"}
	if runs {
		app.Status.OperationState.Phase = "Running"
		app.Operation = &runtime.RawExtension{Raw: operationOf("hub")}
	}
}

// auto ends the revisions of Applications with automated syncs.
const auto = "-auto"

// createApplication creates an Application for the cluster in the first word. The further words are options:
//   - cascade: Argo CD's finalizer;
//   - hooks: the finalizer of post-delete hooks;
//   - old-first: the order of moves;
//   - auto: automated syncs;
//   - of-set: an Application of an ApplicationSet;
//   - followed: an ApplicationSet with a Placement.
func (w *World) createApplication(at key, words []string) {
	app := &argocd.Application{}
	app.APIVersion, app.Kind = argocd.GroupVersion.String(), argocd.Kind
	app.Namespace, app.Name = at.Namespace, at.Name
	app.Labels = map[string]string{apis.LabelPull: "true"}
	app.Annotations = map[string]string{apis.AnnotationCluster: words[0], apis.AnnotationSkipReconcile: "true"}
	app.Spec.Raw = spec(at, "v1")
	if slices.Contains(words, "auto") {
		app.Spec.Raw = spec(at, "v1"+auto)
	}
	if slices.Contains(words, "cascade") {
		app.Finalizers = []string{apis.FinalizerResources}
	}
	if slices.Contains(words, "hooks") {
		app.Finalizers = append(app.Finalizers, apis.FinalizerPostDelete)
	}
	if slices.Contains(words, "old-first") {
		app.Annotations[apis.AnnotationMoveOrder] = apis.MoveOldFirst
	}
	if slices.Contains(words, "of-set") {
		app.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: argocd.GroupVersion.String(), Kind: "ApplicationSet", Name: "set", UID: "5e7", Controller: ptr.To(true),
		}}
	}
	if slices.Contains(words, "followed") {
		if app = w.follow(at, words, app); app == nil {
			return
		}
	}
	w.oracle.creates(at)
	_ = w.hub.create(applications, app, false)
}

// requestID returns the identity of an operation from the hub.
func requestID(operation string) string {
	_, rest, ok := strings.Cut(operation, `"name":"`+apis.OperationInfo+`","value":"`)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// revisionOf returns the user's name for an operation.
func revisionOf(operation string) string {
	var o struct {
		Sync struct {
			Revision string `json:"revision"`
		} `json:"sync"`
	}
	_ = json.Unmarshal([]byte(operation), &o)
	return o.Sync.Revision
}

func workText(obj client.Object) string {
	m := obj.(*workv1.ManifestWork)
	var raw strings.Builder
	for _, x := range m.Spec.Workload.Manifests {
		raw.Write(x.Raw)
	}
	var conditions []string
	for _, c := range m.Status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s@%d", c.Type, c.Status, c.ObservedGeneration))
	}
	return fmt.Sprintf("work %s/%s generation %d finalizers %v deleting %t annotations %v claim %v option %v %v\n  %s\n",
		m.Namespace, m.Name, m.Generation, m.Finalizers, m.DeletionTimestamp != nil, m.Annotations, work.UpdateModeOf(m), m.Spec.DeleteOption,
		conditions, raw.String())
}
