package check

import "github.com/towline-io/towline/pkg/why"

// sourceProgram is the value of the label app.kubernetes.io/name of towline-source.
const sourceProgram = "towline-source"

// guarded is the value of --managed-resources that takes managed resources only while argocd-server refuses the hub.
const guarded = "guarded"

// differences checks the way of managed resources from the agents to the hub's Argo CD, if one end of the way is on.
func differences(f *Facts) []Line {
	const name, do = "differences in Argo CD", why.DifferencesPage
	const effect = `. argocd app diff on the hub ends in "cache: key is missing"`
	taken := f.ManagedResources()
	switch {
	case taken == "" && !f.Sends:
		return nil
	case taken == "" && f.Unread[Deployments]:
		return []Line{unknown(name, "Deployments, and the agents send managed resources")}
	case taken == "":
		return []Line{wrong(name, do, "the agents send managed resources, and no Deployment of towline-source in namespace %s has --managed-resources%s",
			f.Namespace, effect)}
	}
	var out []Line
	if f.Agent != "" && !f.Sends {
		out = append(out, lesser(name, do, "towline-source takes managed resources, and the AddOnTemplate %s has no --argocd-managed-resources%s",
			AddOnAgent, effect))
	}
	if problem, do := f.Source.Problem(); problem != "" {
		out = append(out, wrong(name, do, "%s%s", problem, effect))
	} else if f.Unread[APIServices] {
		out = append(out, unknown(name, "APIServices"))
	}
	switch {
	case taken != guarded:
	case f.Unread[Settings]:
		out = append(out, unknown(name, "the ConfigMap "+Settings+" in namespace "+f.Namespace))
	case !f.HubRefused:
		out = append(out, wrong(name, do, "towline-source takes no managed resources, because ConfigMap %s/%s does not have "+
			`cluster.inClusterEnabled: "false"%s`, f.Namespace, Settings, effect))
	}
	if f.RedisAway {
		out = append(out, wrong(name, do+", for the way to Redis; the error is in: "+why.SourceLog,
			"the Redis of the hub's Argo CD does not answer towline-source%s", effect))
	}
	if out == nil {
		out = []Line{good(name, "towline-source takes the managed resources of the agents")}
	}
	return out
}

// ManagedResources returns the value of --managed-resources of towline-source; empty without the flag.
func (f *Facts) ManagedResources() string {
	for _, w := range f.Workloads {
		if w.Labels["app.kubernetes.io/name"] == sourceProgram && f.atArgoCD(w) && w.ManagedResources != "" {
			return w.ManagedResources
		}
	}
	return ""
}

// NeedsSettings returns whether a check needs the settings of Argo CD.
func (f *Facts) NeedsSettings() bool { return f.ManagedResources() == guarded }
