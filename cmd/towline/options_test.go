package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/dependency"
)

// parse returns the options of a command line.
func parse(t *testing.T, args ...string) *options {
	t.Helper()
	o := newOptions()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.addFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

// kubeconfig writes a kubeconfig for a server and returns its path.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	data := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],` +
		`"clusters":[{"name":"c","cluster":{"server":"` + server + `"}}]}`
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// folder writes files into a folder and returns its path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFlagsDoSomething checks that every flag has an effect on the settings of the program. A flag missing in the
// table fails the test.
func TestFlagsDoSomething(t *testing.T) {
	certs := t.TempDir()
	file := kubeconfig(t, "https://hub.example.com")
	redis := folder(t, map[string]string{"address": "r:6379"})
	searching := folder(t, map[string]string{"token": "x", "url": "https://search/graphql"}) // outside a pod, no other token exists
	config := func(get func(*rest.Config) any) func(*options) any {
		return func(o *options) any {
			if o.kubeconfig == "" {
				o.kubeconfig = kubeconfig(t, "https://other.example.com")
			}
			c, err := restConfig(&o.common)
			if err != nil {
				t.Fatal(err)
			}
			return get(c)
		}
	}
	manager := func(get func(ctrl.Options) any) func(*options) any {
		return func(o *options) any { return get(managerOptions(runtime.NewScheme(), o)) }
	}
	tests := map[string]struct {
		args   string
		effect func(*options) any
		want   any
	}{
		"kubeconfig": {
			"--kubeconfig=" + file, config(func(c *rest.Config) any { return c.Host }), "https://hub.example.com"},
		"controllers": {
			"--controllers=status", func(o *options) any { return controllerOptions(o).Enabled }, []string{"status"}},
		"after-restore": {
			"--after-restore=adopt", func(o *options) any { return controllerOptions(o).AfterRestore }, "adopt"},
		"concurrency": {
			"--concurrency=2", func(o *options) any { return controllerOptions(o).Concurrency }, 2},
		"cluster-claims": {
			"--cluster-claims=region.example.com,zone", func(o *options) any { return controllerOptions(o).ClusterClaims },
			[]string{"region.example.com", "zone"}},
		"take-over-gitopsclusters": {
			"--take-over-gitopsclusters", func(o *options) any { return controllerOptions(o).TakeOverGitOpsClusters }, true},
		"argocd-redis": {
			"--argocd-redis=" + redis, func(o *options) any { return controllerOptions(o).Redis.HostPort }, "r:6379"},
		"move-order": {
			"--move-order=old-first", func(o *options) any { return controllerOptions(o).Move.Order }, apis.MoveOldFirst},
		"adopt": {
			"--adopt=never", func(o *options) any { return controllerOptions(o).Adopt }, apis.AdoptNever},
		"move-timeout": {
			"--move-timeout=3m", func(o *options) any { return controllerOptions(o).Move.Timeout }, 3 * time.Minute},
		"resource-source": {
			"--resource-source=agent,search --search=" + searching, func(o *options) any { return controllerOptions(o).Sources }, []string{"agent", "search"}},
		"search": {
			"--resource-source=search --search=" + searching, func(o *options) any { return controllerOptions(o).Search.URL }, "https://search/graphql"},
		"cluster-authorization": {
			"--cluster-authorization=none", func(o *options) any { return controllerOptions(o).Authorization.Clusters }, "none"},
		"argocd-namespace": {
			"--argocd-namespace=gitops", func(o *options) any { return controllerOptions(o).Authorization.ArgoCDNamespace }, "gitops"},
		"cluster-argocd-namespace": {
			"--cluster-argocd-namespace=gitops", func(o *options) any { return controllerOptions(o).Dependencies.ClusterNamespace }, "gitops"},
		"propagate": {
			"--propagate=objects", func(o *options) any { return controllerOptions(o).Dependencies }, dependency.Options{Objects: true}},
		"argocd-live-resources": {
			"--argocd-live-resources", func(o *options) any { return controllerOptions(o).LiveResources }, true},
		"argocd-app-info": {
			"--argocd-app-info", func(o *options) any { return controllerOptions(o).AppInfo }, true},
		"app-namespaces": {
			"--app-namespaces=local-cluster=local-{namespace},c=d", func(o *options) any { return map[string]string(controllerOptions(o).AppNamespaces) },
			map[string]string{"local-cluster": "local-{namespace}", "c": "d"}},
		"allowed-app-namespaces": {
			"--allowed-app-namespaces=a-*=b,c=d", func(o *options) any { return controllerOptions(o).Authorization.NamespaceRules },
			[]authorization.NamespaceRule{{From: "a-*", To: "b"}, {From: "c", To: "d"}}},
		"work-executor-service-account": {
			"--work-executor-service-account=argocd/applier", func(o *options) any { return controllerOptions(o).Authorization.Executor },
			types.NamespacedName{Namespace: "argocd", Name: "applier"}},
		"on-revocation": {
			"--on-revocation=delete", func(o *options) any { return controllerOptions(o).Authorization.Revocation.Delete }, true},
		"leader-elect": {
			"--leader-elect=false", manager(func(m ctrl.Options) any { return m.LeaderElection }), false},
		"metrics-bind-address": {
			"--metrics-bind-address=:9", func(o *options) any { return metricsOptions(&o.common).BindAddress }, ":9"},
		"metrics-secure": {
			"--metrics-secure=false",
			func(o *options) any {
				m := metricsOptions(&o.common)
				return m.SecureServing || m.FilterProvider != nil
			}, false},
		"metrics-cert-dir": {
			"--metrics-cert-dir=" + certs, func(o *options) any { return metricsOptions(&o.common).CertDir }, certs},
		"health-probe-bind-address": {
			"--health-probe-bind-address=:7", manager(func(m ctrl.Options) any { return m.HealthProbeBindAddress }), ":7"},
		"pprof-bind-address": {
			"--pprof-bind-address=127.0.0.1:6", manager(func(m ctrl.Options) any { return m.PprofBindAddress }), "127.0.0.1:6"},
		"log-level": {
			"--log-level=debug", func(o *options) any { return strings.Contains(logged(t, o), "a detail") }, true},
		"log-format": {
			"--log-format=console", func(o *options) any { return strings.HasPrefix(logged(t, o), "{") }, false},
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	newOptions().addFlags(fs)
	fs.VisitAll(func(flag *pflag.Flag) {
		tc, ok := tests[flag.Name]
		if !ok {
			t.Errorf("--%s is not known to do anything", flag.Name)
			return
		}
		o := parse(t, strings.Fields(tc.args)...)
		if err := o.validate(); err != nil {
			t.Errorf("--%s: %v", flag.Name, err)
		}
		if diff := cmp.Diff(tc.want, tc.effect(o)); diff != "" {
			t.Errorf("--%s (-want +got):\n%s", flag.Name, diff)
		}
		if cmp.Equal(tc.want, tc.effect(parse(t))) {
			t.Errorf("--%s: the default has the same effect, so the test shows nothing", flag.Name)
		}
	})
}

// logged returns the log lines for an error, an info and a detail.
func logged(t *testing.T, o *options) string {
	t.Helper()
	var buf bytes.Buffer
	logger, err := newLogger(&o.common, &buf)
	if err != nil {
		t.Fatal(err)
	}
	logger.Error(nil, "an error")
	logger.Info("an info")
	logger.V(1).Info("a detail")
	return buf.String()
}

func TestLogLevelSelectsMessages(t *testing.T) {
	for level, want := range map[string][3]bool{ // error, info, V(1)
		"error": {true, false, false}, "info": {true, true, false}, "debug": {true, true, true}, "0": {true, true, false}, "1": {true, true, true},
	} {
		out := logged(t, parse(t, "--log-level="+level))
		got := [3]bool{strings.Contains(out, "an error"), strings.Contains(out, "an info"), strings.Contains(out, "a detail")}
		if got != want {
			t.Errorf("--log-level=%s shows %v, want %v", level, got, want)
		}
	}
}

// counted counts how often a logger encodes the value.
type counted int

func (c *counted) MarshalLogObject(to zapcore.ObjectEncoder) error {
	*c++
	to.AddString("name", "web")
	return nil
}

// TestLogValues checks that log lines have the values of the logger. Without a line, the values cost nothing.
func TestLogValues(t *testing.T) {
	var buf bytes.Buffer
	logger, err := newLogger(&parse(t).common, &buf)
	if err != nil {
		t.Fatal(err)
	}
	var c counted
	logger = logger.WithValues("application", &c).WithValues("cluster", "c1")
	if logger.V(1).Info("a detail"); c != 0 {
		t.Errorf("written down %d times for nothing", c)
	}
	logger.Info("an info")
	if out := buf.String(); !strings.Contains(out, `"application":{"name":"web"},"cluster":"c1"`) {
		t.Errorf("logged %s", out)
	}
}

func TestValidate(t *testing.T) {
	if err := parse(t).validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	file := kubeconfig(t, "x")
	for flag, says := range map[string]string{
		"--controllers=nonsense":                      `"nonsense": use gitopscluster, decisions, placement, propagation`,
		"--controllers=":                              "name at least one",
		"--cluster-claims=a b":                        "cannot be a label",
		"--cluster-claims=app.kubernetes.io/instance": "would mean something else to Argo CD",
		"--concurrency=0":                             "not between 1 and 1000",
		"--concurrency=1001":                          "not between 1 and 1000",
		"--propagate=secrets":                         `"secrets" is not one of app-projects, namespaces, objects`,
		"--move-order=first":                          "neither new-first nor old-first",
		"--adopt=yes":                                 "not one of never, matching, always",
		"--move-timeout=-1s":                          "not between 0 and",
		"--argocd-redis=/does/not/exist":              "no such file",
		"--metrics-bind-address=nonsense":             "--metrics-bind-address",
		"--metrics-bind-address=:99999":               "--metrics-bind-address",
		"--health-probe-bind-address=8081":            "--health-probe-bind-address",
		"--metrics-cert-dir=/does/not/exist":          "no such file",
		"--metrics-cert-dir=" + file:                  "is not a folder",
		"--log-level=loud":                            `"loud" is not error, info, debug`,
		"--log-level=8":                               "--log-level",
		"--controllers=dependencies":                  "name both",
		"--cluster-argocd-namespace=A":                "cannot be a namespace",
		"--log-format=xml":                            `"xml" is not json or console`,
		"--pprof-bind-address=:6060":                  "must be a loopback address",
		"--pprof-bind-address=10.0.0.1:6060":          "must be a loopback address",
		"--pprof-bind-address=127.0.0.1":              "--pprof-bind-address",
	} {
		t.Run(flag, func(t *testing.T) {
			err := parse(t, flag).validate()
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v, want %q", err, says)
			}
			name, _, _ := strings.Cut(flag, "=")
			if err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("%v does not name the flag", err)
			}
		})
	}
	if err := parse(t, "--metrics-cert-dir="+t.TempDir(), "--metrics-secure=false").validate(); err == nil {
		t.Error("a certificate for metrics without TLS was accepted")
	}
	err := parse(t, "--log-format=xml", "--concurrency=0").validate()
	if err == nil || !strings.Contains(err.Error(), "log-format") || !strings.Contains(err.Error(), "concurrency") {
		t.Errorf("not all mistakes are told at once: %v", err)
	}
}

func TestCommand(t *testing.T) {
	run := func(args ...string) (string, error) {
		cmd := newCommand()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	if out, err := run("--version"); err != nil || !strings.Contains(out, version) {
		t.Errorf("--version: %q, %v", out, err)
	}
	if out, err := run("controller", "--help"); err != nil || !strings.Contains(out, "--controllers") {
		t.Errorf("--help: %q, %v", out, err)
	}
	if _, err := run("controller", "--log-format=xml"); err == nil {
		t.Error("a bad flag was accepted")
	}
	if _, err := run("controller", "--status-concurrency=4"); err == nil || !strings.Contains(err.Error(), "use --concurrency") {
		t.Errorf("a flag of a former version: %v", err)
	}
	if _, err := run("agent", "--kube-api-qps=4"); err == nil || !strings.Contains(err.Error(), "priority and fairness") {
		t.Errorf("a flag of a former version of the agent: %v", err)
	}
	if _, err := run("controller", "--nonsense"); err == nil || !strings.Contains(err.Error(), "unknown flag: --nonsense") {
		t.Errorf("an unknown flag: %v", err)
	}
	if _, err := run("controller", "surplus"); err == nil {
		t.Error("a surplus argument was accepted")
	}
	if _, err := run("controller", "--kubeconfig=/does/not/exist"); err == nil || !strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("a missing kubeconfig: %v", err)
	}
}

// maxFlags is the maximum number of flags of `towline controller`, for a readable help.
const maxFlags = 30

func TestFewFlags(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	newOptions().addFlags(fs)
	n := 0
	fs.VisitAll(func(flag *pflag.Flag) {
		n++
		if instead, ok := removedFlags[flag.Name]; ok {
			t.Errorf("--%s exists, and is called removed: %s", flag.Name, instead)
		}
	})
	if n > maxFlags {
		t.Errorf("%d flags, more than %d", n, maxFlags)
	}
}

// TestClientOfTheCache checks that the controllers' client reads from the cache.
func TestClientOfTheCache(t *testing.T) {
	if managerOptions(runtime.NewScheme(), newOptions()).NewClient == nil {
		t.Error("controller-runtime's own client copies what an index finds")
	}
}
