package check

import "slices"

// Before checks a hub before the installation of Towline.
func Before(f *Facts) []Line {
	return slices.Concat(
		kubernetes(f), served(f), f.argoCD("ApplicationSets", argoSetController, "no ApplicationSet makes Applications"), narrow(f), others(f),
		argoAddOn(f), acmBefore(f), executorsBefore(f), unlabelled(f),
		rights(f, "your rights", "you", "have an administrator of the hub install Towline"), clusters(f),
	)
}

// Installation checks a hub with Towline.
func Installation(f *Facts) []Line {
	return slices.Concat(
		kubernetes(f), served(f), ownServed(f), f.argoCD("ApplicationSets", argoSetController, "no ApplicationSet makes Applications"), towline(f), skew(f),
		narrow(f), others(f), argoAddOn(f), acmInstalled(f), executors(f), unlabelled(f), policies(f), redis(f), clusters(f), refused(f), addOns(f),
		sources(f), differences(f),
	)
}

// Managed checks a managed cluster.
func Managed(f *Facts) []Line {
	var crd []Line
	if !f.Served["argoproj.io/v1alpha1/applications"] {
		crd = []Line{wrong("CRDs", argoInstall, "the cluster does not serve Applications")}
	}
	return slices.Concat(
		crd, f.argoCD("Argo CD", argoController, "nothing is deployed there"),
		rights(f, "rights of the work agent", "the work agent",
			"kubectl apply -f example/managed/work-agent-rbac.yaml, or see docs/clusters.md, Rights"), agents(f),
	)
}
