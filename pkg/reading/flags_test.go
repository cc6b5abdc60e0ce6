package reading_test

import (
	"slices"
	"testing"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/reading"
)

// TestWhichControllersRun checks the running controllers from --controllers of Towline's Deployment.
func TestWhichControllersRun(t *testing.T) {
	const name = "resourcetree"
	if !slices.Contains(controllers.Names, name) {
		t.Errorf("%s: %v", name, controllers.Names)
	}
	for arg, want := range map[string]bool{
		"": true, "--controllers=*": true, "--controllers=status,resourcetree": true, "--controllers=status": false,
	} {
		var f reading.Flags
		if err := f.Parse("argocd", []string{arg}); err != nil {
			t.Fatal(err)
		}
		if got := f.Runs(name); got != want {
			t.Errorf("%s: %t", arg, got)
		}
	}
}

// TestExplainer: an Explainer has the flags of Towline's Deployment, and the namespace of Argo CD from the user. An invalid
// flag is an error with the name of the flag.
func TestExplainer(t *testing.T) {
	for title, tc := range map[string]struct {
		user string
		args []string
		want string

		executor, err string
	}{
		"no flags": {want: "towline"},
		"a flag":   {args: []string{"--argocd-namespace=there", "--unknown=1"}, want: "there"},
		"the user": {user: "mine", args: []string{"--argocd-namespace=there"}, want: "mine"},
		"an invalid account": {args: []string{"--work-executor-service-account=x"},
			err: `--work-executor-service-account of Towline's Deployment: "x" is not <namespace>/<name> of a ServiceAccount`},
		"a valid account": {args: []string{"--work-executor-service-account=a/b", "--on-revocation=delete", "--adopt=always"},
			want: "towline", executor: "b"},
	} {
		t.Run(title, func(t *testing.T) {
			f := reading.Flags{ArgoCDNamespace: tc.user}
			if err := f.Parse("towline", tc.args); err != nil {
				t.Fatal(err)
			}
			e, err := f.Explainer(nil)
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || e.ArgoCDNamespace != tc.want || e.Options.Revocation.Delete != (f.OnRevocation == "delete") || e.Options.Adopt != f.Adopt {
				t.Errorf("got %+v, %v", e, err)
			}
			if e.Executor.Name != tc.executor {
				t.Errorf("got the executor %s", e.Executor)
			}
		})
	}
}
