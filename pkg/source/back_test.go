package source

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

const (
	project = "team"

	apps   = "https://git.example.com/apps.git"
	values = "git@git.example.com:values.git"
	gone   = "https://git.example.com/gone.git"
)

// TestOwn: a cluster gets back only addresses that the hub knows for the Application.
func TestOwn(t *testing.T) {
	known := Known{apps, values}
	for name, test := range map[string]struct{ address, want string }{
		"at the agent":               {At(agent, project, apps), apps},
		"at the agent, by SSH":       {At(agent, project, values), values},
		"for another AppProject":     {At(agent, "other", apps), apps},
		"by the former name":         {agent + "/" + stem(apps), apps},
		"at a former agent":          {At("https://10.0.0.1:8443/git", project, apps), apps},
		"an unknown repository":      {At(agent, project, gone), At(agent, project, gone)},
		"the repository itself":      {apps, apps},
		"the name alone":             {Name(project, apps), Name(project, apps)},
		"without TLS":                {At("http://agent", project, apps), At("http://agent", project, apps)},
		"with more behind":           {At(agent, project, apps) + "/x", At(agent, project, apps) + "/x"},
		"a name with another hash":   {agent + "/apps-00000000000000000000", agent + "/apps-00000000000000000000"},
		"the name as part of a name": {agent + "/x" + Name(project, apps), agent + "/x" + Name(project, apps)},
		"no address":                 {"", ""},
	} {
		if got := known.Own(test.address); got != test.want {
			t.Errorf("%s: %s is %s, not %s", name, test.address, got, test.want)
		}
	}
}

func TestInText(t *testing.T) {
	known := Known{apps, values}
	for name, test := range map[string]struct{ text, want string }{
		"an error of git":       {"unable to access '" + At(agent, project, apps) + "/': 404", "unable to access '" + apps + "/': 404"},
		"two repositories":      {At(agent, project, apps) + ", " + At(agent, project, values), apps + ", " + values},
		"twice":                 {At(agent, project, apps) + "," + At(agent, project, apps), apps + "," + apps},
		"an unknown repository": {"no " + At(agent, project, gone), "no " + At(agent, project, gone)},
		"the name alone":        {"no /" + Name(project, apps), "no /" + Name(project, apps)},
		"at the end":            {"no " + At(agent, project, apps) + ".", "no " + apps + "."},
		"another AppProject":    {"no " + At(agent, "other", apps), "no " + apps},
		"the former name":       {"no " + agent + "/" + stem(apps) + ".", "no " + apps + "."},
		"a longer name":         {At(agent, project, apps) + "x", At(agent, project, apps) + "x"},
		"plain words":           {"Service \"web\" not found", "Service \"web\" not found"},
	} {
		if got := known.InText(test.text); got != test.want {
			t.Errorf("%s: got %q, not %q", name, got, test.want)
		}
	}
}

// TestBack: Back is the reverse of Through.
func TestBack(t *testing.T) {
	for _, spec := range []string{
		`{"source":{"repoURL":"` + apps + `","path":"x","new":{"a":[1.0]}}}`,
		`{"sources":[{"repoURL":"` + apps + `"},{"repoURL":"` + values + `","ref":"v"}]}`,
		`{"source":{"path":"x"}}`, `{"source":null,"sources":null}`, `{"project":"p"}`,
	} {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(spec), &fields); err != nil {
			t.Fatal(err)
		}
		app := &argocd.Application{}
		app.Spec.Raw = []byte(spec)
		if err := Through(agent, project, fields); err != nil {
			t.Fatal(err)
		}
		if err := KnownOf(app).Back(fields); err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(fields)
		if diff := cmp.Diff(decoded(t, spec), decoded(t, string(got))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestKnownOf(t *testing.T) {
	app := &argocd.Application{}
	app.Spec.Raw = []byte(`{"source":{"repoURL":"` + apps + `"}}`)
	app.Status.History = []argocd.Deployment{
		{Source: &argocd.Source{RepoURL: gone}}, {Sources: []argocd.Source{{RepoURL: values}, {RepoURL: apps}}}, {},
	}
	if diff := cmp.Diff(Known{values, apps, gone}, KnownOf(app)); diff != "" {
		t.Error(diff)
	}
}

func TestMoved(t *testing.T) {
	for _, raw := range []string{`{"repoURL":"a","path":"p"}`, `{"helm":{"values":"x: 1"},"path":"p","repoURL":"a"}`} {
		var s argocd.Source
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			t.Fatal(err)
		}
		there, err := json.Marshal(Moved(s, "b"))
		if err != nil {
			t.Fatal(err)
		}
		back, err := json.Marshal(Moved(Moved(s, "b"), "a"))
		if err != nil || string(back) != raw || string(there) == raw || s.RepoURL != "a" {
			t.Errorf("%s became %s, and %s: %v", raw, there, back, err)
		}
	}
}
