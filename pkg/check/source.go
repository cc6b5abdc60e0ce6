package check

import "fmt"

// sources checks the way of repositories through the hub, if a cluster or an Application has chosen the way.
func sources(f *Facts) []Line {
	const name = "sources through the hub"
	who := readers(f)
	if who == "" {
		return nil
	}
	if f.Unread[APIServices] {
		return []Line{unknown(name, "APIServices, and "+who+" read through the hub")}
	}
	var out []Line
	if problem, do := f.Source.Problem(); problem != "" {
		out = append(out, wrong(name, do, "%s. Without new commits: %s", problem, who))
	}
	if f.Agent != "" && !f.Door {
		out = append(out, wrong(name, "see docs/agent.md, Sources from the hub", "the agents do not serve repositories of the hub: "+
			"the AddOnTemplate %s has no --source-bind-address. Without new commits: %s", AddOnAgent, who))
	}
	if without := withoutAgent(f); len(without) > 0 {
		out = append(out, wrong(name, "see docs/agent.md, or let the cluster read from the Git servers: a cluster that reaches only the broker of Maestro "+
			"has no way to the hub", "the add-on %s is missing. Without new commits: %s", AddOnAgent, some(without)))
	}
	if out == nil {
		out = []Line{good(name, "towline-source answers for %s", who)}
	}
	return out
}

// withoutAgent returns the clusters that read all or some Applications through the hub, and have no agent of Towline to
// read through.
func withoutAgent(f *Facts) (out []string) {
	for _, c := range f.Clusters {
		if _, has := c.AddOns[AddOnAgent]; (c.ThroughHub || f.ThroughHub[c.Name] > 0) && !has && !f.Unread[AddOns] {
			out = append(out, c.Name)
		}
	}
	return out
}

// readers returns the clusters, and the number of Applications, that have chosen the way through the hub; empty for none.
func readers(f *Facts) string {
	var clusters []string
	for _, c := range f.Clusters {
		if c.ThroughHub {
			clusters = append(clusters, c.Name)
		}
	}
	count := 0
	for _, n := range f.ThroughHub {
		count += n
	}
	switch applications := fmt.Sprintf("Applications with the annotation (%d)", count); {
	case len(clusters) > 0 && count > 0:
		return some(clusters) + ", and " + applications
	case len(clusters) > 0:
		return some(clusters)
	case count > 0:
		return applications
	}
	return ""
}
