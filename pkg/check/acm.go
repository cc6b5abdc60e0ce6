package check

import (
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/clusterimport"
)

// ACMHub is the resource that identifies a hub of Advanced Cluster Management, in the format of Facts.Served.
const ACMHub = "operator.open-cluster-management.io/v1/multiclusterhubs"

// ReportCRD is the name of the CRD of reports.
const ReportCRD = "multiclusterapplicationsetreports.apps.open-cluster-management.io"

// ACM has the facts about a hub of Advanced Cluster Management.
type ACM struct {
	// WithCredentials are the GitOpsClusters without createBlankClusterSecrets.
	WithCredentials []string

	// Generators are the generators of ApplicationSets that read a missing ConfigMap.
	Generators []Generator

	// Deprecated is true if the CRD of reports announces its own removal.
	Deprecated bool
}

// Generator is a generator of an ApplicationSet.
type Generator struct {
	// Set is the namespace and name of the ApplicationSet, and ConfigMap is the configMapRef.
	Set, ConfigMap string
}

// IsACM returns whether the hub is a hub of Advanced Cluster Management.
func (f *Facts) IsACM() bool { return f.Served[ACMHub] }

// SetNamespaces returns the namespaces of ApplicationSet controllers. Argo CD looks for the ConfigMaps of generators in
// these namespaces.
func (f *Facts) SetNamespaces() []string {
	var out []string
	for _, w := range f.byName(argoSetController) {
		out = append(out, w.Namespace)
	}
	return out
}

// acmInstalled checks a hub of Advanced Cluster Management with Towline.
func acmInstalled(f *Facts) []Line {
	out := acm(f)
	if f.IsACM() && f.NoGitOpsClusters {
		out = append(out, secretless(f, "Towline runs without the controller gitopscluster, so nobody makes cluster Secrets")...)
	}
	return out
}

// acm checks the requirements of the profile acm.
func acm(f *Facts) (out []Line) {
	if !f.IsACM() {
		return nil
	}
	out = generators(f)
	if len(f.ACM.WithCredentials) > 0 {
		out = append(out, lesser("cluster Secrets", "set spec.createBlankClusterSecrets to true, unless Argo CD also pushes to these clusters",
			"Advanced Cluster Management makes Secrets with credentials, or none, for the GitOpsClusters %s", some(f.ACM.WithCredentials)))
	}
	if f.ACM.Deprecated {
		out = append(out, lesser("CRD of reports", "nothing now: after the removal, Towline creates its own CRD. See docs/install.md, CRDs",
			"Advanced Cluster Management calls the CRD %s deprecated and will remove it", ReportCRD))
	}
	return out
}

// generators checks the ConfigMaps of generators. A GitOpsCluster makes the ConfigMap acm-placement.
func generators(f *Facts) (out []Line) {
	var early, misnamed []string
	for _, g := range f.ACM.Generators {
		if g.ConfigMap == clusterimport.GeneratorConfigACM {
			early = append(early, g.Set)
		} else {
			misnamed = append(misnamed, g.Set+" reads "+g.ConfigMap)
		}
	}
	if len(misnamed) > 0 {
		out = append(out, wrong("generators", "set configMapRef to acm-placement",
			"no ConfigMap of the generator in %s. Advanced Cluster Management makes acm-placement: %s", some(f.SetNamespaces()), some(misnamed)))
	}
	if len(early) > 0 {
		out = append(out, wrong("generators", "create a GitOpsCluster for the Argo CD: the controller of GitOpsClusters then makes the ConfigMap",
			"no ConfigMap acm-placement in %s, for the generators of %s", some(f.SetNamespaces()), some(early)))
	}
	return out
}

// acmBefore checks a hub of Advanced Cluster Management before the installation.
func acmBefore(f *Facts) []Line {
	if !f.IsACM() {
		return nil
	}
	out := acm(f)
	if !f.Served[reports] {
		out = append(out, lesser("CRD of reports", "install with Helm: the chart brings the CRD. See docs/install.md, CRDs", "the hub has no CRD %s",
			ReportCRD))
	}
	return append(out, secretless(f, "with the profile acm, nobody makes cluster Secrets")...)
}

// secretless checks that the controller of Advanced Cluster Management for cluster Secrets runs, for a Towline without a
// controller of GitOpsClusters. effect is the effect of a missing controller. Every namespace counts, unlike in older:
// Advanced Cluster Management may run in any namespace, and next to its controller, the advice of the line is harmful.
func secretless(f *Facts, effect string) []Line {
	runs := func(w Workload) bool { return strings.HasPrefix(w.Name, "multicluster-integrations") && w.Wanted > 0 }
	if f.Unread[Deployments] || slices.ContainsFunc(f.Workloads, runs) {
		return nil
	}
	return []Line{lesser("cluster Secrets", "in place of profile=acm, set crds.enabled=own and gitOpsCluster.takeOver=true: see docs/takeover.md",
		"no Deployment multicluster-integrations runs: %s", effect)}
}
