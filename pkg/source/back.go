package source

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// IsAt returns whether an address is the address of a repository at an agent. Only the name in the address counts. The
// hub may have changed the address of the agent since, and the AppProject, and an Application may read from the Git server
// by now. The name contains a hash of the repository's whole address, so a cluster can name only a repository that the hub
// names, too.
func IsAt(address, repo string) bool {
	return strings.HasPrefix(address, "https://") && Former(path.Base(address)) == stem(repo) && !strings.HasSuffix(address, "/")
}

// Known are the addresses of an Application's repositories that the hub knows.
type Known []string

// KnownOf returns the addresses in the spec of the hub's Application, and in the shown history. No cluster can write
// either. A tenant may write a false history: an invented address has another hash than the address in the work.
func KnownOf(app *argocd.Application) Known {
	out := Addresses(app.Spec.Raw)
	for _, s := range History(app) {
		out = append(out, s.RepoURL)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// History returns all sources in the shown history of the hub's Application.
func History(app *argocd.Application) (out []argocd.Source) {
	for i := range app.Status.History {
		d := &app.Status.History[i]
		out = append(out, d.Sources...)
		if d.Source != nil {
			out = append(out, *d.Source)
		}
	}
	return out
}

// Own returns the repository of an address at an agent, or the address itself for an unknown repository.
func (k Known) Own(address string) string {
	for _, repo := range k {
		if IsAt(address, repo) {
			return repo
		}
	}
	return address
}

// InText replaces the addresses at an agent in a text. Unknown addresses stay.
func (k Known) InText(text string) string {
	for _, repo := range k {
		if stem := stem(repo); strings.Contains(text, "/"+stem) {
			at := regexp.MustCompile(`https://[A-Za-z0-9.:/_-]*/` + stem + `(?:\.[0-9a-f]{20})?(\.?(?:[^.\w]|$))`)
			text = at.ReplaceAllString(text, strings.ReplaceAll(repo, "$", "$$")+"$1")
		}
	}
	return text
}
