package report

import (
	"strconv"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// Unknown is the key of Tally's maps for Applications without a report from their cluster.
const Unknown = "None"

// Tally counts the Applications of a set. Counts change by difference.
type Tally struct {
	// Applications is the total number.
	Applications int

	// ByHealth and BySync count the Applications by the status code from their cluster.
	ByHealth, BySync map[string]int

	// Good counts the synced and healthy Applications that are sent in their current form, and whose cluster is
	// available and compares the Application.
	Good int

	// Unreachable counts the Applications on unavailable clusters.
	Unreachable int

	// NotCompared counts the Applications with a long delay of the comparison by their cluster's Argo CD.
	NotCompared int

	// Blocked counts the Applications that Towline cannot send.
	Blocked int

	clusters map[string]int
}

func newTally() Tally {
	return Tally{ByHealth: map[string]int{}, BySync: map[string]int{}, clusters: map[string]int{}}
}

// add counts a row n times; n is 1 or -1.
func (t *Tally) add(row *v1alpha1.ClusterCondition, n int) {
	t.Applications += n
	bump(t.ByHealth, orUnknown(row.HealthStatus), n)
	bump(t.BySync, orUnknown(row.SyncStatus), n)
	if row.Cluster != "" {
		bump(t.clusters, row.Cluster, n)
	}
	unreachable := has(row.Conditions, apis.ConditionClusterUnreachable)
	blocked := has(row.Conditions, apis.ConditionPropagationError) || has(row.Conditions, apis.ConditionPropagationForbiddenError)
	if unreachable {
		t.Unreachable += n
	}
	if blocked {
		t.Blocked += n
	}
	notCompared := has(row.Conditions, apis.ConditionNotCompared)
	if notCompared {
		t.NotCompared += n
	}
	if !unreachable && !blocked && !notCompared && row.SyncStatus == "Synced" && row.HealthStatus == "Healthy" {
		t.Good += n
	}
}

func bump(counts map[string]int, key string, n int) {
	if counts[key] += n; counts[key] == 0 {
		delete(counts, key)
	}
}

func orUnknown(code string) string {
	if code == "" {
		return Unknown
	}
	return code
}

// summary returns the tally in the form of the API.
func (t *Tally) summary() v1alpha1.ReportSummary {
	healthy, synced := t.ByHealth["Healthy"], t.BySync["Synced"]
	return v1alpha1.ReportSummary{
		Clusters:     strconv.Itoa(len(t.clusters)),
		Applications: strconv.Itoa(t.Applications),
		Synced:       strconv.Itoa(synced),
		NotSynced:    strconv.Itoa(t.Applications - synced),
		Healthy:      strconv.Itoa(healthy),
		NotHealthy:   strconv.Itoa(t.Applications - healthy),
		InProgress:   strconv.Itoa(t.ByHealth["Progressing"]),
		Unreachable:  strconv.Itoa(t.Unreachable),
		NotCompared:  strconv.Itoa(t.NotCompared),
	}
}

// rank is the urgency of a row; the lowest value is the most urgent.
type rank int

const (
	failing rank = iota
	unreachable
	underway
	good
)

func rankOf(row *v1alpha1.ClusterCondition) rank {
	for _, c := range row.Conditions {
		if strings.HasSuffix(c.Type, "Error") {
			return failing
		}
	}
	switch {
	case failed(row.OperationStatePhase), row.HealthStatus == "Degraded", row.HealthStatus == "Missing":
		return failing
	case has(row.Conditions, apis.ConditionClusterUnreachable), has(row.Conditions, apis.ConditionNotCompared):
		return unreachable
	case row.SyncStatus != "Synced", row.HealthStatus != "Healthy":
		return underway
	}
	return good
}
