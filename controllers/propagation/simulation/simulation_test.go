package simulation

import "testing"

func TestScripts(t *testing.T) {
	for title, lines := range map[string][]Step{
		"delivered": {{Op: "create", Who: "argocd/one", What: "c1 cascade"}},
		"moved":     {{Op: "create", Who: "argocd/one", What: "c1 cascade"}, {Op: "settle"}, {Op: "move", Who: "argocd/one", What: "c2"}},
		"deleted":   {{Op: "create", Who: "argocd/one", What: "c1 cascade"}, {Op: "settle"}, {Op: "delete", Who: "argocd/one"}},
		"deleted without a cascade": {{Op: "create", Who: "argocd/one", What: "c1 cascade"}, {Op: "settle"},
			{Op: "finalizers", Who: "argocd/one"}, {Op: "delete", Who: "argocd/one"}},
		"released":          {{Op: "create", Who: "argocd/one", What: "c1 cascade"}, {Op: "settle"}, {Op: "release", Who: "argocd/one", What: "true"}},
		"another namespace": {{Op: "create", Who: "argocd/one", What: "c1 cascade"}, {Op: "settle"}, {Op: "namespace", Who: "argocd/one", What: "apps"}},
		"operation":         {{Op: "create", Who: "argocd/one", What: "c1 cascade"}, {Op: "settle"}, {Op: "operation", Who: "argocd/one", What: "r1"}},
		"old-first": {{Op: "create", Who: "argocd/one", What: "c1 cascade old-first"}, {Op: "settle"},
			{Op: "move", Who: "argocd/one", What: "c2"}},
		"refresh":    {{Op: "create", Who: "argocd/one", What: "c1 cascade"}, {Op: "settle"}, {Op: "refresh", Who: "argocd/one", What: "hard"}},
		"unlabelled": {{Op: "create", Who: "argocd/one", What: "c1 cascade"}, {Op: "settle"}, {Op: "label", Who: "argocd/one"}, {Op: "delete", Who: "argocd/one"}},
	} {
		t.Run(title, func(t *testing.T) {
			w := New(Options{Names: []string{"c1", "c2"}})
			for i := range lines {
				w.do(&lines[i])
			}
			w.rest()
			if w.failure != nil {
				t.Errorf("%s\n%s", w.failure, w)
			}
		})
	}
}
