package check

import "testing"

func TestOf(t *testing.T) {
	const name = "app.kubernetes.io/name"
	for want, list := range map[string][]Workload{
		"towline": {{Name: "towline-controller", Labels: map[string]string{name: "towline"}}},
		"argocd": {
			{Labels: map[string]string{name: "argocd-server"}}, {Labels: map[string]string{name: "openshift-gitops-application-controller"}},
			{Labels: map[string]string{name: "redis", "app.kubernetes.io/part-of": "argocd"}},
		},
		"pull": {{Name: "multicluster-integrations"}, {Name: "multicloud-integrations-x"}, {Name: "argocd-agent-principal"},
			{Name: "argocd-pull-integration"}},
		"": {{Name: "guestbook"}, {Name: "shop", Labels: map[string]string{name: "shop", "app.kubernetes.io/part-of": "shop"}}},
	} {
		for _, w := range list {
			if w.OfTowline() != (want == "towline") || w.OfArgoCD() != (want == "argocd") || w.OfPull() != (want == "pull") {
				t.Errorf("%+v: wanted %q", w, want)
			}
		}
	}
}
