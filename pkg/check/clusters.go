package check

import "strings"

// Names of Towline's add-ons.
const (
	AddOnAgent  = "towline-agent"
	AddOnRights = "towline-rights"
)

// clusters checks the ManagedClusters.
func clusters(f *Facts) []Line {
	const name = "clusters"
	if f.Unread[Clusters] {
		return []Line{unknown(name, "ManagedClusters")}
	}
	var pending, away []string
	for _, c := range f.Clusters {
		switch {
		case !c.Accepted:
			pending = append(pending, c.Name)
		case !c.Available:
			away = append(away, c.Name)
		}
	}
	var out []Line
	if len(f.Clusters) == 0 {
		out = append(out, wrong(name, "clusteradm get token", "the hub has no ManagedCluster"))
	}
	if len(pending) > 0 {
		out = append(out, wrong(name, "clusteradm accept --clusters "+pending[0], "not accepted: %s", some(pending)))
	}
	if len(away) > 0 {
		out = append(out, wrong(name, "kubectl describe managedcluster "+away[0], "not heard of: %s", some(away)))
	}
	if out == nil {
		out = []Line{good(name, "all %d are accepted and available", len(f.Clusters))}
	}
	return out
}

// addOns checks Towline's add-ons on the clusters.
func addOns(f *Facts) []Line {
	const name = "add-ons"
	if f.Unread[AddOns] {
		return []Line{unknown(name, "ManagedClusterAddOns")}
	}
	if len(f.Clusters) == 0 {
		return nil
	}
	var out []Line
	for _, a := range []struct{ addOn, without, do string }{
		{AddOnRights, "the work agents there may write Applications only where example/managed was applied", "see docs/clusters.md, Rights"},
		{AddOnAgent, "the hub shows no resources, history or summary of their Applications", "see docs/agent.md"},
	} {
		var without, failing []string
		for _, c := range f.Clusters {
			available, has := c.AddOns[a.addOn]
			switch {
			case !has:
				without = append(without, c.Name)
			case !available:
				failing = append(failing, c.Name)
			}
		}
		if len(failing) > 0 {
			out = append(out, wrong(name, "kubectl -n "+failing[0]+" describe managedclusteraddon "+a.addOn, "%s is not available on %s", a.addOn,
				some(failing)))
		}
		if len(without) > 0 {
			out = append(out, lesser(name, a.do, "%s is not on %s: %s", a.addOn, some(without), a.without))
		}
	}
	if out == nil {
		out = []Line{good(name, "%s and %s are available on all clusters", AddOnAgent, AddOnRights)}
	}
	return out
}

// refused checks whether work agents accept Applications.
func refused(f *Facts) []Line {
	const name = "work agents"
	if f.Refused == nil {
		return []Line{unknown(name, "Applications of all namespaces")}
	}
	if len(f.Refused) == 0 {
		return []Line{good(name, "none refuses an Application")}
	}
	var by []string
	for cluster := range f.Refused {
		by = append(by, cluster)
	}
	names := some(by)
	message := f.Refused[by[0]]
	if strings.Contains(message, "forbidden") {
		return []Line{wrong(name, "see docs/clusters.md, Rights, or apply example/managed/work-agent-rbac.yaml there",
			"without the right to apply Applications: %s. On %s: %s", names, by[0], message)}
	}
	return []Line{wrong(name, "kubectl towline check --cluster-kubeconfig FILE", "not all is applied on %s. On %s: %s", names, by[0], message)}
}

// ToInstall are the rights for the installation of Towline; Namespace is empty for the whole hub.
var ToInstall = []Right{
	{Verb: "create", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
	{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
	{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
	{Verb: "create", Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"},
	{Verb: "create", Group: "apps", Resource: "deployments"},
}

// OfWorkAgent are the rights of a cluster's work agent, in the namespace of the cluster's Argo CD.
var OfWorkAgent = []Right{
	{Verb: "get", Group: "argoproj.io", Resource: "applications"}, {Verb: "list", Group: "argoproj.io", Resource: "applications"},
	{Verb: "watch", Group: "argoproj.io", Resource: "applications"}, {Verb: "create", Group: "argoproj.io", Resource: "applications"},
	{Verb: "patch", Group: "argoproj.io", Resource: "applications"}, {Verb: "delete", Group: "argoproj.io", Resource: "applications"},
	{Verb: "patch", Group: "argoproj.io", Resource: "appprojects"},
}

// rights checks the rights of a user or of a work agent.
func rights(f *Facts, name, who, do string) []Line {
	if f.Unread[Reviews] {
		return []Line{unknown(name, "the rights of other users")}
	}
	var missing []string
	for r, allowed := range f.Rights {
		if !allowed {
			missing = append(missing, r.Verb+" "+r.Resource+"."+r.Group)
		}
	}
	if len(missing) > 0 {
		return []Line{wrong(name, do, "%s may not %s", who, some(missing))}
	}
	return []Line{good(name, "%s may do everything necessary", who)}
}

// agents checks the agents on a managed cluster.
func agents(f *Facts) []Line {
	if f.Unread[Deployments] {
		return []Line{unknown("agents", "Deployments")}
	}
	var work, own *Workload
	for i, w := range f.Workloads {
		switch {
		case w.Labels["app.kubernetes.io/name"] == "towline" && w.Labels["app.kubernetes.io/component"] == "agent":
			own = &f.Workloads[i]
		case w.Name == "klusterlet-work-agent", w.Name == "klusterlet-agent":
			work = &f.Workloads[i]
		}
	}
	var out []Line
	switch {
	case work == nil:
		out = append(out, wrong("work agent", "clusteradm join", "no Deployment klusterlet-work-agent or klusterlet-agent"))
	case work.Ready == 0:
		out = append(out, wrong("work agent", "kubectl -n "+work.Namespace+" logs deployment/"+work.Name, "%s/%s is not ready", work.Namespace, work.Name))
	default:
		out = append(out, good("work agent", "%s/%s", work.Namespace, work.Name))
	}
	switch {
	case own == nil:
		out = append(out, lesser("Towline's agent", "see docs/agent.md", "not installed: the hub shows no resources of the cluster's Applications"))
	case own.Ready == 0:
		out = append(out, wrong("Towline's agent", "kubectl -n "+own.Namespace+" logs deployment/"+own.Name, "%s/%s is not ready", own.Namespace, own.Name))
	default:
		out = append(out, good("Towline's agent", "%s/%s, version %s", own.Namespace, own.Name, tagOr(own.Image, "unknown")))
	}
	return out
}
