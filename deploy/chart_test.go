package deploy_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	_ "github.com/towline-io/towline/pkg/fixture/withoutcgo" // `go` runs in this test
)

// helms are the tested versions of Helm.
var helms = []string{"helm3", "helm4"}

// placeholder has the Helm arguments for the image in the manifests of kustomize.
var placeholder = []string{"--set=image.repository=towline", "--set=image.tag=latest"}

// programs return the path of each version of Helm and of helm-unittest. Each path is cached, because a request to Go
// takes longer than a run of the program.
var programs = map[string]func() (string, error){
	"helm3": built("helm3", "helm"), "helm4": built("helm4", "helm"), "helm-unittest": built("helm-unittest", "helm-unittest"),
}

// built returns a function for the path of a tool. Go builds the tool from a folder of .ci/tools at the first call.
func built(folder, tool string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		out, err := exec.CommandContext(context.Background(), "go", "tool", "-n", "-modfile=../.ci/tools/"+folder+"/go.mod", tool).Output()
		return strings.TrimSpace(string(out)), err
	})
}

// helm runs a program of programs. The error is the program's standard error.
func helm(t *testing.T, version string, args ...string) ([]byte, error) {
	t.Helper()
	program, err := programs[version]()
	if err != nil {
		t.Fatalf("%s: %v", version, err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return out.Bytes(), errors.New(problem.String())
	}
	return out.Bytes(), nil
}

// template renders the chart for a namespace.
func template(t *testing.T, version, namespace string, args ...string) ([]byte, error) {
	t.Helper()
	return helm(t, version, append([]string{"template", "towline", "chart", "--namespace=" + namespace, "--kube-version=1.35.0"}, args...)...)
}

// TestChartIsKustomize: the chart renders the same objects as kustomize. So the two ways to install Towline cannot
// differ.
func TestChartIsKustomize(t *testing.T) {
	addons := []string{"--set=addons.rights.enabled=true,addons.agent.enabled=true"}
	const shippedAddons = "../addon"
	cases := map[string]struct {
		namespace string
		values    []string
		resources []string // kustomize's
		more      []string // components
	}{
		"ocm":              {"argocd", nil, []string{"../overlays/argocd"}, nil},
		"openshift-gitops": {"openshift-gitops", nil, []string{"../overlays/openshift-gitops"}, nil},
		"acm":              {"openshift-gitops", []string{"--set=profile=acm"}, []string{"../overlays/acm"}, []string{"own-crds"}},
		"with all components": {
			"argocd",
			[]string{"--set=crds.enabled=none,dependencies.objects=true,ui.enabled=true,metrics.prometheusRule.enabled=true," +
				"metrics.serviceMonitor.enabled=true,metrics.certificate.secretName=towline-controller-metrics-tls," +
				"metrics.dashboards.enabled=true,admissionPolicies.enabled=false,argocd.liveResources=true," +
				"networkPolicy.enabled=true,networkPolicy.redis=true,gitOpsCluster.managedServiceAccounts={argocd-manager}"},
			[]string{"../overlays/argocd"},
			[]string{
				"without-crds", "argocd-live-resources", "propagate-objects", "ui", "service-monitor", "prometheus-rule", "dashboards",
				"without-admission-policies", "managed-serviceaccount", "network-policy", "argocd-redis",
			},
		},
		"with the add-ons": {"argocd", addons, []string{"../overlays/argocd", shippedAddons}, nil},
		"with the add-ons on OpenShift, on all clusters": {
			"openshift-gitops", append(slices.Clone(addons), "--set=addons.agent.install=placements,addons.agent.argocdTree=true,"+
				"addons.agent.argocdManagedResources=true,addons.agent.source=true,addons.agent.secureMetrics=true,networkPolicy.enabled=true"),
			[]string{"../overlays/openshift-gitops", "../overlays/openshift-gitops/addon"},
			[]string{
				"agent-by-placement", "agent-argocd-tree", "agent-managed-resources", "network-policy", "agent-network-policy", "agent-secure-metrics",
				"agent-source",
			},
		},
	}
	compared := map[string]bool{}
	for _, tc := range cases {
		for _, component := range tc.more {
			compared[component] = true
		}
	}
	components, err := os.ReadDir("components")
	if err != nil {
		t.Fatal(err)
	}
	for _, component := range components {
		if !compared[component.Name()] {
			t.Errorf("no case compares the component %s with what the chart renders for it", component.Name())
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := objects(t, kustomize(t, tc.resources, tc.more))
			for _, version := range helms {
				out, err := template(t, version, tc.namespace, slices.Concat(placeholder, tc.values)...)
				if err != nil {
					t.Fatalf("%s: %v", version, err)
				}
				if diff := cmp.Diff(want, objects(t, out)); diff != "" {
					t.Errorf("%s renders something else (-kustomize +chart):\n%s", version, diff)
				}
			}
		})
	}
}

// TestInstallYAMLIsTheChart: install.yaml has the same objects as the chart with the default values.
func TestInstallYAMLIsTheChart(t *testing.T) {
	install, err := os.ReadFile("install.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out, err := template(t, helms[0], namespace, placeholder...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(objects(t, install), objects(t, out)); diff != "" {
		t.Errorf("(-install.yaml +chart):\n%s", diff)
	}
}

// kustomize builds resources with components, and returns the manifest.
func kustomize(t *testing.T, resources, components []string) []byte {
	t.Helper()
	dir := renderFolder(t, ".")
	k := map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources,
	}
	var paths []string
	for _, c := range components {
		paths = append(paths, "../components/"+c)
	}
	if paths != nil {
		k["components"] = paths
	}
	data, err := sigsyaml.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../.ci/tools/go.mod", "kustomize", "build", dir).Output()
	if err != nil {
		t.Fatalf("kustomize: %v", err)
	}
	return out
}

// objects returns the objects of a manifest by kind, namespace and name, without Helm's labels and annotations. Helm
// hooks, for example the tests of the chart, are left out.
func objects(t *testing.T, manifest []byte) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := sigsyaml.UnmarshalStrict(document, &u.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(u.Object) == 0 || u.GetAnnotations()["helm.sh/hook"] != "" {
			continue
		}
		key := u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
		if _, twice := found[key]; twice {
			t.Fatalf("%s is there twice", key)
		}
		withoutHelms(u)
		found[key] = u.Object
	}
}

// withoutHelms removes the labels and annotations of Helm, and doubled line breaks in texts.
func withoutHelms(u *unstructured.Unstructured) {
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	maps.DeleteFunc(labels, func(key, _ string) bool {
		return slices.Contains([]string{"helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"}, key)
	})
	delete(annotations, "helm.sh/resource-policy")
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	eachString(u.Object, func(text string) string { return lines.ReplaceAllString(text, "\n") })
}

// lines matches line breaks. kustomize doubles some line breaks in a folded text, without an effect on expressions.
var lines = regexp.MustCompile(`\n+`)

// eachString replaces each text in a value, at any depth, and returns the value.
func eachString(value any, replace func(string) string) any {
	switch v := value.(type) {
	case string:
		return replace(v)
	case map[string]any:
		for key := range v {
			v[key] = eachString(v[key], replace)
		}
	case []any:
		for i := range v {
			v[i] = eachString(v[i], replace)
		}
	}
	return value
}

// TestChartRefuses: for a wrong value, Helm fails with a message about the value.
func TestChartRefuses(t *testing.T) {
	cases := map[string]struct {
		args []string
		says []string
	}{
		"no image":             {[]string{"--set=image.repository="}, []string{"image.repository is empty: no image is published"}},
		"another profile":      {[]string{"--set=profile=openshift"}, []string{"profile", "'ocm', 'acm'"}},
		"a misspelt key":       {[]string{"--set=lifecycle.onRevoke=delete"}, []string{"lifecycle", "additional properties 'onRevoke' not allowed"}},
		"a flag of old":        {[]string{"--set=onRevocation=delete"}, []string{"additional properties 'onRevocation' not allowed"}},
		"other CRDs":           {[]string{"--set=crds.enabled=some"}, []string{"crds/enabled", "'all', 'own', 'none'"}},
		"a digest without it":  {[]string{"--set=image.digest=abc"}, []string{"image/digest", "sha256"}},
		"a digest in the name": {[]string{"--set=image.repository=a@sha256:b"}, []string{"image/repository"}},
		"a tag in the name":    {[]string{"--set=image.repository=registry.example:5000/a:b"}, []string{"image/repository"}},
		"memory in GB":         {[]string{"--set=memory.limit=2GB"}, []string{"memory/limit", "(Mi|Gi)"}},
		"an argument":          {[]string{"--set=extraArgs={log-level=debug}"}, []string{"extraArgs/0", "^--"}},
		"a pair of namespaces": {
			[]string{"--set=authorization.allowedAppNamespaces={team-a}"}, []string{"authorization/allowedAppNamespaces/0", "^[^=,]+=[^=,]+$"},
		},
		"Kubernetes 1.29": {[]string{"--kube-version=1.29.0"}, []string{"Kubernetes v1.29.0", "set admissionPolicies.enabled=false"}},
		"Kubernetes 1.25": {
			[]string{"--kube-version=1.25.0", "--set=admissionPolicies.enabled=false"}, []string{"chart requires kubeVersion: >=1.26.0-0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, version := range helms {
				_, err := template(t, version, namespace, slices.Concat(placeholder, tc.args)...)
				if err == nil {
					t.Fatalf("%s renders it", version)
				}
				for _, word := range tc.says {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%s does not say %q, but\n%v", version, word, err)
					}
				}
			}
		})
	}
}

// TestChartOnOldKubernetes: without the admission policies, a hub before Kubernetes 1.30 can use the chart. The version may
// have the suffix of a product.
func TestChartOnOldKubernetes(t *testing.T) {
	t.Parallel()
	for _, version := range helms {
		for _, kubernetes := range []string{"1.26.0", "1.29.15-eks-7c5b2e9"} {
			args := append(slices.Clone(placeholder), "--kube-version="+kubernetes, "--set=admissionPolicies.enabled=false")
			if _, err := template(t, version, namespace, args...); err != nil {
				t.Errorf("%s, Kubernetes %s: %v", version, kubernetes, err)
			}
		}
	}
}

// TestChartUnits runs the unit tests of the chart. The unit tests describe the expectations of a reader of the chart's
// values.
func TestChartUnits(t *testing.T) {
	out, err := helm(t, "helm-unittest", "--strict", "--color=false", "chart")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
