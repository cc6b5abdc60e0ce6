package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// cluster is a managed cluster: an API server with Applications and workloads, a work agent, and an Argo CD.
type cluster struct {
	world *World
	name  string

	// apps are the Applications of the cluster. deployed are the workloads, by the namespace and name of the tracking
	// Application.
	apps     map[key]*placed
	deployed map[key]*workload
	applied  map[string]*appliedWork // by the name of the work
	others   map[string][]string     // objects beside Applications in works, with the UIDs of the AppliedManifestWorks as owners

	version, uids int64

	// connected is set while the agent reaches the hub. failing is set while the cluster's own API server does not
	// answer. polling is set if the agent then has no watch with cached objects.
	connected, failing, polling bool

	// older is set for an agent of OCM before 1.0, which reports no comparison in a condition.
	older bool

	// seen are the works in the agent's cache. news are the names of works with later changes.
	seen map[string]*workv1.ManifestWork
	news map[string]bool

	// todo are the agent's controllers with a queued work. later are the controllers with a scheduled retry.
	todo  map[string]controller
	later map[string]retry

	// stirred are the Applications in the queue of Argo CD.
	stirred map[key]bool
	garbage bool
}

// controller is a set of the work agent's controllers.
type controller uint8

const (
	addFinalizer controller = 1 << iota
	applyManifests
	reportStatus
	finalizeWork
	finalizeApplied
	everyController = addFinalizer | applyManifests | reportStatus | finalizeWork | finalizeApplied
)

type retry struct {
	at   time.Time
	what controller
}

// appliedWork is an AppliedManifestWork.
type appliedWork struct {
	uid       string
	resources []tracked
	others    []string // tracked objects beside Applications
	deleting  bool
	evicts    time.Time // zero while the work exists
}

// tracked is an entry of appliedResources.
type tracked struct {
	at  key
	uid string
}

// placed is an Application on a cluster.
type placed struct {
	key
	uid         string
	madeAt      string
	version     int64
	annotations map[string]string
	labels      map[string]string
	finalizers  []string
	spec        map[string]string // fields of the spec, in JSON
	operation   string
	owners      []string // UIDs of AppliedManifestWorks, each followed by a slash and the name of the work
	deleting    bool

	// left is set if the cluster has left the hub after the creation of the Application. The works, with the memory of
	// operations, are gone then.
	left bool

	// sets is the number of fields owned by the agent after the agent's last change of the Application, at setAt.
	sets  int
	setAt string

	// managers are the owners of each field, by server-side apply or by an update.
	managers map[string]map[string]bool

	health, sync string
	reconciledAt string
	state        *operationState
}

// operationState is status.operationState.
type operationState struct {
	phase, startedAt, finishedAt string
	operation                    string
}

func (s *operationState) runs() bool {
	return s != nil && (s.phase == "Running" || s.phase == "Terminating")
}

// workload is the deployed workload of an Application.
type workload struct {
	uid   string
	at    key
	owner key
}

func (w *World) newCluster(name string) *cluster {
	c := &cluster{world: w, name: name, connected: true}
	c.empty()
	c.restartAgent()
	return c
}

// empty resets the cluster to a newly built cluster.
func (c *cluster) empty() {
	c.apps, c.deployed, c.applied = map[key]*placed{}, map[key]*workload{}, map[string]*appliedWork{}
	c.stirred, c.others = map[key]bool{}, map[string][]string{}
	c.garbage = false
}

// restartAgent empties the agent's caches and queues.
func (c *cluster) restartAgent() {
	c.seen, c.news = map[string]*workv1.ManifestWork{}, map[string]bool{}
	c.todo, c.later = map[string]controller{}, map[string]retry{}
	for at := range c.world.hub.objects[works] {
		if at.Namespace == c.name {
			c.news[at.Name] = true
		}
	}
	for name := range c.applied {
		c.news[name] = true
	}
	c.polling = true
}

func (c *cluster) uid(of string) string {
	c.uids++
	return fmt.Sprintf("%s-%s-%d", c.name, of, c.uids)
}

// touched plays a write of an Application: a new version, and the reactions of Argo CD and the agent.
func (c *cluster) touched(a *placed) {
	c.version++
	a.version = c.version
	c.stirred[a.key] = true
	for name, w := range c.seen {
		if reports(w, a.key) {
			c.todo[name] |= reportStatus
		}
	}
	if a.deleting && len(a.finalizers) == 0 {
		c.world.oracle.removed(c, a)
		delete(c.apps, a.key)
		delete(c.stirred, a.key)
		c.garbage = true
	}
}

// place creates an Application.
func (c *cluster) place(at key) *placed {
	a := &placed{
		key: at, uid: c.uid("app"), madeAt: c.world.now.UTC().Format(time.RFC3339),
		annotations: map[string]string{}, labels: map[string]string{}, spec: map[string]string{}, managers: map[string]map[string]bool{},
	}
	c.apps[at] = a
	c.world.oracle.placed(c, a)
	return a
}

// remove is a DELETE of an Application.
func (c *cluster) remove(a *placed) {
	if a.deleting {
		return
	}
	a.deleting = true
	c.touched(a)
}

// argo is a step of Argo CD for one Application: Argo CD runs an operation, removes a deleted Application, or compares.
func (c *cluster) argo(at key, finish bool) {
	delete(c.stirred, at)
	a := c.apps[at]
	if a == nil {
		return
	}
	now := c.world.now.UTC().Format(time.RFC3339)
	switch {
	case a.state.runs():
		if !finish && a.state.phase != "Terminating" {
			return
		}
		c.finish(a, now)
	case a.deleting:
		c.finalize(a)
		return
	case a.operation != "":
		c.begin(a, now)
		return
	}
	if a.deleting {
		c.stirred[at] = true
		return
	}
	c.compare(a, now)
}

// ownSync is the revision of an operation from the cluster itself.
const ownSync = "own"

// sync starts an operation on the cluster, like Argo CD's automated sync or a person there.
func (c *cluster) sync(a *placed) {
	if a.operation == "" && !a.state.runs() && !a.deleting {
		a.setOperation(`{"sync":{"revision":"` + ownSync + `"}}`)
		c.touched(a)
	}
}

// upgradeAgent upgrades the agent to the newest version, with a restart.
func (c *cluster) upgradeAgent() {
	c.restartAgent()
	c.older = false
}

// begin starts the requested operation.
func (c *cluster) begin(a *placed, now string) {
	a.state = &operationState{phase: "Running", startedAt: now, operation: a.operation}
	c.world.oracle.began(c, a)
	c.touched(a)
}

func (c *cluster) finish(a *placed, now string) {
	a.state = &operationState{phase: "Succeeded", startedAt: a.state.startedAt, finishedAt: now, operation: a.state.operation}
	a.setOperation("")
	c.touched(a)
}

// finalize deletes the workload if the finalizers ask for a cascade, and then removes the finalizers. A waiting
// operation does not begin.
func (c *cluster) finalize(a *placed) {
	if argocd.Destroys(a.finalizers) {
		if w := c.deployed[a.key]; w != nil {
			c.destroy(w, "the cascade of "+a.uid)
		}
	}
	a.finalizers = slices.DeleteFunc(slices.Clone(a.finalizers), argocd.IsCascadeFinalizer)
	c.touched(a)
}

// destroy ends a workload.
func (c *cluster) destroy(w *workload, why string) {
	delete(c.deployed, w.at)
	c.world.oracle.destroyed(c, w, why)
}

// compare is Argo CD's comparison with an automated sync.
func (c *cluster) compare(a *placed, now string) {
	_, refresh := a.annotations[apis.AnnotationRefresh]
	if c.deployed[a.key] == nil {
		c.deployed[a.key] = &workload{uid: c.uid("workload"), at: a.key, owner: a.owner()}
	}
	if a.health == "Healthy" && a.sync == "Synced" && !refresh && !c.world.comparing {
		return
	}
	if refresh {
		a.unset("annotation:" + apis.AnnotationRefresh)
		c.world.oracle.compared(a)
	}
	a.health, a.sync, a.reconciledAt = "Healthy", "Synced", now
	c.touched(a)
	delete(c.stirred, a.key)
}

// setOperation is a write of the operation by Argo CD.
func (a *placed) setOperation(operation string) {
	a.operation = operation
	delete(a.managers, "operation")
}

// field returns the text of a field, and whether the Application has the field.
func (a *placed) field(name string) (string, bool) {
	group, name, _ := cutField(name)
	switch group {
	case "annotation":
		v, ok := a.annotations[name]
		return v, ok
	case "label":
		v, ok := a.labels[name]
		return v, ok
	case "finalizer":
		return name, slices.Contains(a.finalizers, name)
	case "spec":
		v, ok := a.spec[name]
		return v, ok
	case "operation":
		return a.operation, a.operation != ""
	case "phase":
		if a.state == nil {
			return "", false
		}
		return a.state.phase, true
	}
	panic("no field " + group)
}

func (a *placed) set(field, value string) {
	group, name, _ := cutField(field)
	switch group {
	case "annotation":
		a.annotations[name] = value
	case "label":
		a.labels[name] = value
	case "finalizer":
		if !slices.Contains(a.finalizers, name) {
			a.finalizers = append(slices.Clone(a.finalizers), name)
		}
	case "spec":
		a.spec[name] = value
	case "operation":
		a.operation = value
	case "phase":
		if a.state != nil {
			s := *a.state
			s.phase = value
			a.state = &s
		}
	}
}

func (a *placed) unset(field string) {
	delete(a.managers, field)
	group, name, _ := cutField(field)
	switch group {
	case "annotation":
		delete(a.annotations, name)
	case "label":
		delete(a.labels, name)
	case "finalizer":
		a.finalizers = slices.DeleteFunc(slices.Clone(a.finalizers), func(f string) bool { return f == name })
	case "spec":
		delete(a.spec, name)
	case "operation":
		a.operation = ""
	}
}

// conflictError is the conflict of a server-side apply.
type conflictError string

func (e conflictError) Error() string { return string(e) }

// apply is a server-side apply of an Application. It returns the Application, or a conflictError.
func (c *cluster) apply(p *payload, manager string, force bool) (*placed, error) {
	a := c.apps[p.key]
	if p.version != "" && (a == nil || p.version != strconv.FormatInt(a.version, 10)) {
		return a, conflictError("Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version")
	}
	if a != nil {
		if err := a.mayApply(p, manager, force); err != nil {
			return a, err
		}
	} else {
		a = c.place(p.key)
	}
	changed, before := a.version == 0, a.owner()
	for _, f := range p.fields {
		if value, has := a.field(f.name); !has || value != f.value {
			a.set(f.name, f.value)
			a.managers[f.name] = nil
			changed = true
		}
		if !a.managers[f.name][manager] {
			owners := maps.Clone(a.managers[f.name])
			if owners == nil {
				owners = map[string]bool{}
			}
			owners[manager] = true
			a.managers[f.name] = owners
			changed = true
		}
	}
	for _, f := range sortedNames(a.managers) {
		if !a.managers[f][manager] || p.has(f) {
			continue
		}
		changed = true
		owners := maps.Clone(a.managers[f])
		delete(owners, manager)
		a.managers[f] = owners
		if len(owners) == 0 {
			a.unset(f)
		}
	}
	if changed {
		if manager == workv1.DefaultFieldManager {
			a.sets, a.setAt = p.counted(), c.world.now.UTC().Format(time.RFC3339Nano)
		}
		c.world.oracle.applied(c, a, p, before)
		c.touched(a)
	}
	return a, nil
}

// counted returns the number of fields that the agent owns after an apply of the payload. A refresh does not count,
// because Argo CD removes the annotation.
func (p *payload) counted() int {
	if p.has("annotation:" + apis.AnnotationRefresh) {
		return len(p.fields) - 1
	}
	return len(p.fields)
}

// owned returns the number of fields of a manager.
func (a *placed) owned(manager string) (n int) {
	for _, owners := range a.managers {
		if owners[manager] {
			n++
		}
	}
	return n
}

// mayApply checks a server-side apply like an API server.
func (a *placed) mayApply(p *payload, manager string, force bool) error {
	var conflicts []string
	for _, f := range p.fields {
		value, has := a.field(f.name)
		if !has && a.deleting && f.isFinalizer() {
			return fmt.Errorf("metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted")
		}
		if !has || value == f.value || force {
			continue
		}
		for other := range a.managers[f.name] {
			if other != manager {
				conflicts = append(conflicts, fmt.Sprintf("conflict with %q: %s", other, f.path()))
			}
		}
	}
	slices.Sort(conflicts)
	switch len(conflicts) {
	case 0:
	case 1:
		return conflictError("Apply failed with 1 conflict: " + conflicts[0])
	default:
		return conflictError(fmt.Sprintf("Apply failed with %d conflicts: %s", len(conflicts), strings.Join(conflicts, "\n")))
	}
	return nil
}

// own adds or removes an AppliedManifestWork as an owner of an Application.
func (c *cluster) own(a *placed, owner string, owns bool) {
	if c.apps[a.key] != a || slices.Contains(a.owners, owner) == owns {
		return
	}
	a.owners = slices.DeleteFunc(slices.Clone(a.owners), func(o string) bool { return o == owner })
	if owns {
		a.owners = append(a.owners, owner)
	}
	c.touched(a)
}

// collect is the garbage collector: it removes objects whose owners are all gone.
func (c *cluster) collect() {
	c.garbage = false
	there := map[string]bool{}
	for _, w := range c.applied {
		there[w.uid] = true
	}
	for _, at := range sortedKeys(c.apps) {
		a := c.apps[at]
		left := slices.DeleteFunc(slices.Clone(a.owners), func(o string) bool { return !there[o] })
		switch {
		case len(left) == len(a.owners):
		case len(left) > 0:
			a.owners = left
			c.touched(a)
		default:
			c.remove(a)
		}
	}
}
