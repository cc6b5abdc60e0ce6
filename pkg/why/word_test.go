package why

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
)

// hostile are names with shell syntax.
var hostile = []string{"x;touch /tmp/owned", "$(id)", "`id`", "a b", "it's", "a\nb", "'; id; '", `\`, "~root", "*", "--kubeconfig=x"}

// TestShellWord checks that a shell takes each name literally.
func TestShellWord(t *testing.T) {
	for _, name := range hostile {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+word(name)).Output()
		if strings.HasPrefix(name, "-") {
			out, err = exec.CommandContext(t.Context(), "sh", "-c", "printf %s x"+word(name)).Output()
			out = out[1:]
		}
		if err != nil || string(out) != name {
			t.Errorf("%q: got %q, %v", name, out, err)
		}
	}
	for _, name := range []string{"", "cluster1", "argocd/guestbook-app.v1_2"} {
		if got := word(name); got != name {
			t.Errorf("%q: got %q", name, got)
		}
	}
}

// TestCommandsOfHostileNames checks that no proposed command executes a name from an author of Applications.
func TestCommandsOfHostileNames(t *testing.T) {
	for _, name := range hostile {
		b := fixture.Application("a").Cluster(name).Annotation(apis.AnnotationAppNamespace, name).Annotation(apis.AnnotationPlacement, name)
		app := b.Condition(apis.ConditionPausedWarning, apis.AnnotationPaused+" on Namespace "+name+": paused").Obj()
		f := &Facts{App: app, Now: time.Now()}
		commands := []string{f.command("kubectl NAMESPACE APP CLUSTER PROJECT PLACEMENT"), f.away("away").Do,
			f.link(delivery.Condition{Type: apis.ConditionPausedWarning, Message: app.Status.Conditions[0].Message}).Do}
		l := &Diagnosis{Cluster: name}
		app.Status.OperationState = nil
		f.argoCD(l)
		for _, k := range l.Links {
			commands = append(commands, k.Do)
		}
		for _, c := range commands {
			// With an empty PATH, the shell prints an error for every command except kubectl.
			script := "kubectl() { :; }; PATH=; " + c
			if out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", script).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%q: %q: %v\n%s", name, c, err, out)
			}
		}
	}
}
