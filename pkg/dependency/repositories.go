package dependency

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/source"
)

// atAgent has the repositories' own addresses by the addresses at a cluster's agent.
type atAgent map[string]string

// readsOtherwise reports whether the delivered AppProject must permit other repositories for the Application than for
// the observed Applications. One Application that reads from the servers is enough for all patterns of the AppProject.
func (f *Facts) readsOtherwise(app *argocd.Application) bool {
	through := func(app *argocd.Application) bool { return f.Cluster.Reading(app).SourceAddress != "" }
	return through(app) || !slices.ContainsFunc(f.Users, func(u User) bool { return u.Permitted && !through(u.App) })
}

// repositories returns the repositories of the project's Applications that read through the hub, and the addresses at
// the agent that works of the cluster still have: a move is under way, or the hub's Application is paused or forbidden.
// The own address of such a repository is empty. fromServers reports whether further Applications read from the servers:
// Applications of the hub, Applications in the works of the cluster, or released Applications. A work with a request
// does not tell, and counts as such an Application.
func (f *Facts) repositories() (through atAgent, fromServers bool) {
	through = atAgent{}
	for i := range f.Users {
		app := f.Cluster.Reading(f.Users[i].App)
		switch {
		case !f.Users[i].Permitted:
		case app.SourceAddress == "":
			fromServers = true
		default:
			for _, repo := range source.Addresses(app.Spec.Raw) {
				through[source.At(app.SourceAddress, f.Project.Name, repo)] = repo
			}
		}
	}
	known := map[string]bool{}
	for address := range through {
		known[authorization.NormalizeURL(address)] = true
	}
	specs, all := f.carried()
	for _, spec := range specs {
		for _, repo := range spec.Repositories {
			switch {
			case spec.Project != f.Project.Name, known[repo]:
			case source.IsBelow(f.Cluster.AgentAddress(), repo):
				through[repo] = ""
			default:
				fromServers = true
			}
		}
	}
	return through, fromServers || !all || len(f.releasedTo()) > 0
}

// permit lets an AppProject permit the addresses of the cluster's agent. The patterns of the hub's AppProject stay only
// for Applications that read from the servers. The signatures of commits are checked as with the own addresses.
func (a atAgent) permit(spec fields, fromServers bool) error {
	if len(a) == 0 {
		return nil
	}
	var patterns []string
	if raw, ok := spec["sourceRepos"]; ok && fromServers {
		if err := json.Unmarshal(raw, &patterns); err != nil {
			return err
		}
	}
	raw, err := payload.Marshal(append(patterns, slices.Sorted(maps.Keys(a))...))
	spec["sourceRepos"] = raw
	return errors.Join(err, nested(spec, "sourceIntegrity", func(integrity fields) error {
		return nested(integrity, "git", func(git fields) error { return rewriteList(git, "policies", a.verify) })
	}))
}

// nested changes an object in a field. A missing field stays missing.
func nested(in fields, name string, change func(fields) error) error {
	var inner fields
	if raw, ok := in[name]; !ok {
		return nil
	} else if err := json.Unmarshal(raw, &inner); err != nil || inner == nil {
		return err
	}
	if err := change(inner); err != nil {
		return err
	}
	raw, err := payload.Marshal(inner)
	in[name] = raw
	return err
}

// verify adds the addresses at the agent to a policy about signatures of commits, so that the policy is for the same
// repositories as on the hub.
func (a atAgent) verify(policy fields) (fields, error) {
	var repos []fields
	if err := json.Unmarshal(policy["repos"], &repos); err != nil {
		return nil, err
	}
	var patterns []string
	for _, repo := range repos {
		patterns = append(patterns, text(repo, "url"))
	}
	for _, address := range slices.Sorted(maps.Keys(a)) {
		switch here, there := a[address] == "" || verifies(patterns, a[address]), verifies(patterns, address); {
		case here && !there:
			repos = append(repos, fields{"url": quote(address)})
		case there && !here:
			repos = append(repos, fields{"url": quote("!" + address)})
		}
	}
	raw, err := payload.Marshal(repos)
	policy["repos"] = raw
	return policy, err
}

// verifies reports whether a policy with the patterns is for a repository, by the rules of Argo CD 3.5. A pattern that
// versions of Argo CD read differently counts for a check, and not against a check.
func verifies(patterns []string, repo string) bool {
	found := false
	for _, pattern := range patterns {
		if without, denies := strings.CutPrefix(pattern, "!"); denies {
			if authorization.Matches(without, repo) {
				return false
			}
			continue
		}
		found = found || authorization.Matches(pattern, repo) || authorization.Disputed(pattern, repo)
	}
	return found
}
