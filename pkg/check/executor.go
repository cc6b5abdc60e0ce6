package check

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// nilExecutorGate is the feature gate of Open Cluster Management that restricts who creates ManifestWorks without an
// executor.
const nilExecutorGate = "NilExecutorValidating"

// WithoutExecutor is the right required by the gate. The ServiceAccount in its object does not exist.
var WithoutExecutor = Right{
	Verb: "execute-as", Group: "work.open-cluster-management.io", Resource: "manifestworks", Name: "system:serviceaccount::klusterlet-work-sa",
}

// NilExecutor has the facts about the gate.
type NilExecutor struct {
	// Enabled is true if the ClusterManager enables the gate.
	Enabled bool

	// Without is Towline's ServiceAccount without the right, as "<namespace>/<name>"; empty for none.
	Without string
}

// NilExecutorEnabled returns whether a ClusterManager enables the gate.
func NilExecutorEnabled(manager *unstructured.Unstructured) bool {
	gates, _, _ := unstructured.NestedSlice(manager.Object, "spec", "workConfiguration", "featureGates")
	on := false
	for _, g := range gates {
		if gate, _ := g.(map[string]any); gate["feature"] == nilExecutorGate {
			on = gate["mode"] == "Enable"
		}
	}
	return on
}

// executors checks whether Towline may create ManifestWorks without an executor. Without the gate, everybody may.
func executors(f *Facts) []Line {
	const name = "executors"
	switch {
	case f.Unread[ClusterManagers]:
		return nil // most users may not read ClusterManagers, and the gate is off by default
	case !f.NilExecutor.Enabled:
		return nil
	case f.Unread[Reviews]:
		return []Line{unknown(name, "the rights of other users, and the feature gate "+nilExecutorGate+" is on")}
	case f.NilExecutor.Without != "":
		return []Line{wrong(name,
			fmt.Sprintf("give the ServiceAccount the verb %s on %s.%s with the resource name %s: see docs/security.md, The works' executor",
				WithoutExecutor.Verb, WithoutExecutor.Resource, WithoutExecutor.Group, WithoutExecutor.Name),
			"Open Cluster Management's feature gate %s is on, and ServiceAccount %s may not create ManifestWorks without an executor: "+
				"new Applications get PropagationError, reason WorkRejected", nilExecutorGate, f.NilExecutor.Without)}
	}
	return []Line{good(name, "Open Cluster Management's feature gate %s is on, and Towline has the right that the gate asks for", nilExecutorGate)}
}

// executorsBefore checks the gate before the installation.
func executorsBefore(f *Facts) []Line {
	if !f.NilExecutor.Enabled {
		return nil
	}
	return []Line{good("executors", "Open Cluster Management's feature gate %s is on. Towline's ClusterRole has the right that the gate asks for",
		nilExecutorGate)}
}
