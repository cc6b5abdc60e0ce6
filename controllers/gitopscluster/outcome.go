package gitopscluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// verdict is what a condition says. The zero value leaves the condition as it is.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

// outcome is what came of one attempt.
type outcome struct {
	resolved, imported, removed verdict

	// clusters is how many chosen clusters have their Secret; nil when that is not known.
	clusters *int32

	// created and deleted are the clusters whose Secret was made or removed.
	created, deleted []string

	// troubles are what stands in the way, by cluster.
	troubles map[string]*Problem

	// held are the Secrets that could not be removed, by namespace; gone are the namespaces that have none any more.
	held map[string][]heldSecret
	gone []string

	// retry is why to try again, though no watch will tell when.
	retry error

	// after is when to look again though nothing has changed; zero for never.
	after time.Duration
}

// again is why to look again. What has failed is tried again sooner than anything else is looked for.
func (o *outcome) again() error {
	if o.retry == nil && o.after > 0 {
		return later(o.after)
	}
	return o.retry
}

// look asks for another look after so long at the latest.
func (o *outcome) look(after time.Duration) {
	if o.after == 0 || after < o.after {
		o.after = after
	}
}

// later asks for another look at what nothing that is watched tells of.
type later time.Duration

func (l later) Error() string { return "look again after " + time.Duration(l).String() }

// resolve notes what became of reading the Placement.
func (o *outcome) resolve(chosen *selection, err error) {
	problem, ok := errors.AsType[*Problem](err)
	switch {
	case ok:
		o.resolved = verdict{metav1.ConditionFalse, problem.Reason, problem.Message}
		o.imported = verdict{metav1.ConditionUnknown, apis.ReasonPlacementUnresolved, "which clusters to import is not known"}
	case err == nil:
		o.resolved = verdict{metav1.ConditionTrue, apis.ReasonResolved, fmt.Sprintf("the Placement has chosen %s", count(len(chosen.clusters)))}
		if chosen.why != "" {
			o.resolved.message += " (" + chosen.why + ")"
		}
	}
}

// refuse notes that nothing can be imported at all.
func (o *outcome) refuse(err error) {
	if problem, ok := errors.AsType[*Problem](err); ok {
		o.imported = verdict{metav1.ConditionFalse, problem.Reason, problem.Message}
		o.retry = errors.Join(o.retry, problem.cause)
	}
}

// trouble notes that a cluster could not be imported as it should be.
func (o *outcome) trouble(cluster string, problem *Problem) {
	if o.troubles == nil {
		o.troubles = map[string]*Problem{}
	}
	o.troubles[cluster] = problem
}

// brought notes which clusters have their Secret, and what became of the others.
func (o *outcome) brought(there map[string]bool) {
	var n int32
	for _, is := range there {
		if is {
			n++
		}
	}
	o.clusters = &n
	if len(o.troubles) == 0 {
		o.imported = verdict{metav1.ConditionTrue, apis.ReasonImported, fmt.Sprintf("%s imported", count(int(n)))}
		return
	}
	clusters := slices.Sorted(maps.Keys(o.troubles))
	var messages []string
	for _, cluster := range clusters {
		problem := o.troubles[cluster]
		if !slices.Contains(messages, problem.Message) {
			messages = append(messages, problem.Message)
		}
		if o.retry == nil {
			o.retry = problem.cause
		}
	}
	o.imported = verdict{metav1.ConditionFalse, o.troubles[clusters[0]].Reason,
		fmt.Sprintf("not as they should be: %s. %s", some(clusters), strings.Join(messages[:min(len(messages), 3)], ". "))}
}

// holds notes which Secrets of a namespace could not be removed.
func (o *outcome) holds(namespace string, held []heldSecret) {
	if o.held == nil {
		o.held = map[string][]heldSecret{}
	}
	o.held[namespace] = held
	var all []heldSecret
	for _, namespace := range slices.Sorted(maps.Keys(o.held)) {
		all = append(all, o.held[namespace]...)
	}
	switch {
	case len(all) > 0:
		o.removed = verdict{metav1.ConditionFalse, apis.ReasonApplicationsRemain, remaining(all)}
	case o.removed.status == "": // what else stands in the way of a removal has been noted
		o.removed = verdict{metav1.ConditionTrue, apis.ReasonRemoved, "no cluster has a Secret that should not have one"}
	}
}

// heldClusters are the clusters whose Secrets could not be removed.
func (o *outcome) heldClusters() []string {
	var out []string
	for _, held := range o.held {
		for _, h := range held {
			out = append(out, clustersecret.Cluster(h.secret))
		}
	}
	return out
}

// unsettled notes that clusters seem not to be chosen any more, but that this is not certain.
func (o *outcome) unsettled(n int, grace time.Duration) {
	o.removed = verdict{metav1.ConditionFalse, apis.ReasonSelectionUnsettled,
		fmt.Sprintf("%s no longer chosen, as it seems: their Secrets stay until the Placement, which must have something to choose from, "+
			"and its decisions have agreed on that for %s", count(n), grace)}
}

// stuck notes that a namespace cannot be left.
func (o *outcome) stuck(problem *Problem) {
	o.removed = verdict{metav1.ConditionFalse, problem.Reason, problem.Message}
	o.retry = errors.Join(o.retry, problem.cause)
}

// ready is what the first two verdicts come to; nothing while the GitOpsCluster is being deleted.
func (o *outcome) ready() verdict {
	for _, v := range []verdict{o.resolved, o.imported} {
		if v.status == "" {
			return verdict{}
		}
		if v.status != metav1.ConditionTrue {
			return verdict{metav1.ConditionFalse, v.reason, v.message}
		}
	}
	return o.imported
}

func count(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}
