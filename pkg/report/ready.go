package report

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// ready returns the condition Ready, for clients that wait for an ApplicationSet.
func (t *Tally) ready() metav1.Condition {
	c := metav1.Condition{
		Type: apis.ConditionReady, Status: metav1.ConditionTrue, Reason: apis.ReasonAllHealthy,
		Message: fmt.Sprintf("%d of %d Applications are synced and healthy", t.Good, t.Applications),
	}
	if t.Good == t.Applications {
		return c
	}
	c.Status = metav1.ConditionFalse
	inProgress := t.ByHealth["Progressing"]
	notSynced := t.Applications - t.BySync["Synced"]
	notHealthy := t.Applications - t.ByHealth["Healthy"] - inProgress
	var parts []string
	for _, p := range []struct {
		n            int
		reason, text string
	}{
		{t.Blocked, apis.ReasonNotPropagated, "cannot be sent"},
		{t.Unreachable, apis.ReasonClustersUnreachable, "on clusters that are not available"},
		{t.NotCompared, apis.ReasonNotCompared, "not compared with Git for a long time"},
		{notHealthy, apis.ReasonNotHealthy, "not healthy"},
		{notSynced, apis.ReasonNotSynced, "not synced"},
		{inProgress, apis.ReasonProgressing, "progressing"},
	} {
		if p.n == 0 {
			continue
		}
		if len(parts) == 0 {
			c.Reason = p.reason
		}
		parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
	}
	c.Message += ": " + strings.Join(parts, ", ")
	return c
}

// cut counts the omitted parts of a report.
type cut struct{ rows, resources, ofRows, ofResources, maxBytes int }

// complete returns the condition Complete. It is false if the report omits rows or resources.
func (c cut) complete() metav1.Condition {
	if c.rows == 0 && c.resources == 0 {
		return metav1.Condition{
			Type: apis.ConditionComplete, Status: metav1.ConditionTrue, Reason: apis.ReasonAllShown,
			Message: "every Application has a row and every resource is listed",
		}
	}
	return metav1.Condition{
		Type: apis.ConditionComplete, Status: metav1.ConditionFalse, Reason: apis.ReasonTruncated,
		Message: fmt.Sprintf("%d of %d Applications, those that need the least attention, and %d of %d resources are left out, "+
			"because a report has at most %d bytes. The counts include them",
			c.rows, c.ofRows, c.resources, c.ofResources, c.maxBytes),
	}
}
