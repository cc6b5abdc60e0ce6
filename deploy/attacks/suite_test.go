package attacks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

const (
	soon = time.Minute
	tick = 100 * time.Millisecond
)

// startHub starts an API server that has the CRDs, roles and objects of a hub, and no admission policy yet.
func startHub(t *testing.T) *rest.Config {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: run make test-envtest, or set it to the folder that `go -C e2e run ./cmd/fleet assets` prints")
	}
	env := &envtest.Environment{CRDInstallOptions: envtest.CRDInstallOptions{
		Paths: append(find(t, "../crds/apps.*.yaml"), find(t, filepath.Join(assets, "crds", "*.yaml"))...), ErrorIfPathMissing: true, MaxTime: soon,
	}}
	t.Cleanup(func() { // before it starts: what fails half-way has started etcd, and maybe more
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func find(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	return files
}

// objects are those of a file. What has a namespace and names none is of Argo CD's.
func objects(t *testing.T, file string) (found []*unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		if u.GetNamespace() == "" && slices.Contains([]string{"Role", "RoleBinding"}, u.GetKind()) {
			u.SetNamespace(argocdNamespace)
		}
		found = append(found, u)
	}
	return found
}

func create(t *testing.T, admin client.Client, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, u := range objects {
		if err := admin.Create(t.Context(), u); err != nil {
			t.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
}

// policies are the files of the admission policies.
func policies(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(find(t, "../admission/*.yaml"), func(file string) bool { return filepath.Base(file) == "kustomization.yaml" })
}

// identities are the attackers' users and groups. Each comes with the groups by which Kubernetes and Open Cluster Management know it.
var identities = map[string]rest.ImpersonationConfig{
	aTenant:     {UserName: "tenant"},
	anAgent:     {UserName: "system:open-cluster-management:cluster1:agent", Groups: []string{"system:open-cluster-management:cluster1"}},
	anIAMAgent:  {UserName: "cluster1", Groups: []string{"open-cluster-management:cluster1"}},
	aTokenAgent: {UserName: "system:serviceaccount:cluster1:addon", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:cluster1"}},
	aGRPC: {UserName: "system:serviceaccount:open-cluster-management-hub:grpc-server-sa",
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:open-cluster-management-hub"}},
	aThief: {UserName: "system:serviceaccount:argocd:towline-controller", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:argocd"}},
	anAddOn: {UserName: "system:open-cluster-management:cluster:cluster1:addon:towline-agent:agent:hostile",
		Groups: []string{"system:open-cluster-management:cluster:cluster1:addon:towline-agent", "system:open-cluster-management:addon:towline-agent"}},
}

// dry is a client of an attacker whose writes the API server judges, and does not carry out.
func dry(t *testing.T, hub *rest.Config, who rest.ImpersonationConfig) client.Client {
	t.Helper()
	config := rest.CopyConfig(hub)
	config.Impersonate = who
	if who.UserName != "" {
		config.Impersonate.Groups = append(slices.Clone(who.Groups), "system:authenticated")
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.NewDryRunClient(c)
}

// TestAttacksAreRefused: each, by its guard. Without its policy the same hands are let through, and where a right lacks, who has all
// rights is.
func TestAttacksAreRefused(t *testing.T) {
	hub := startHub(t)
	admin, err := client.New(hub, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"testdata/hub.yaml", "../rbac/role.yaml", "../rbac/decisions.yaml", "../addon/hub_role.yaml"} {
		create(t, admin, objects(t, file)...)
	}
	attackers := map[string]client.Client{}
	for who, identity := range identities {
		attackers[who] = dry(t, hub, identity)
	}

	t.Run("without policies", func(t *testing.T) {
		for _, r := range refusals {
			if r.guard == byRBAC {
				continue
			}
			t.Run(r.by+" "+r.what, func(t *testing.T) {
				if err := r.try(t.Context(), attackers[r.by]); err != nil {
					t.Errorf("it is refused by something else than %s: %v", r.guard, err)
				}
			})
		}
	})
	for _, file := range policies(t) {
		create(t, admin, objects(t, file)...)
	}
	administrator := dry(t, hub, rest.ImpersonationConfig{})
	t.Run("with policies", func(t *testing.T) {
		for _, r := range refusals {
			t.Run(r.by+" "+r.what, func(t *testing.T) {
				// The API server heeds a policy some time after it was made.
				NewWithT(t).Eventually(func(ctx context.Context) error { return r.try(ctx, attackers[r.by]) }, soon, tick).
					WithContext(t.Context()).Should(refusedWith(r.says))
				if r.guard != byRBAC {
					return
				}
				if err := r.try(t.Context(), administrator); err != nil {
					t.Errorf("it is not for a right that it is refused: %v", err)
				}
			})
		}
	})
}

// refusedWith matches the API server's refusal in these words.
func refusedWith(says string) OmegaMatcher {
	return And(HaveOccurred(), Or(Satisfy(apierrors.IsForbidden), Satisfy(apierrors.IsInvalid)), MatchError(ContainSubstring(says)))
}

// TestEachPolicyRefuses: each admission policy is in the cases.
func TestEachPolicyRefuses(t *testing.T) {
	used := map[string]bool{}
	for _, r := range refusals {
		used[r.guard] = true
	}
	for _, file := range policies(t) {
		name := objects(t, file)[0].GetName()
		if !used[name] {
			t.Errorf("no attack is refused by %s", name)
		}
	}
	if len(used) != len(policies(t))+1 {
		t.Errorf("the guards are %v, and there are %d policies", used, len(policies(t)))
	}
}

// TestAttacksAreDocumented compares docs/security.md with the cases, in their order.
func TestAttacksAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	const head = "| who | tries this | refused by | with the words |\n|---|---|---|---|\n"
	var want strings.Builder
	for _, r := range refusals {
		fmt.Fprintf(&want, "| %s | %s | %s | `%s` |\n", r.by, r.what, r.guard, r.says)
	}
	_, after, _ := strings.Cut(string(page), head)
	if table, _, _ := strings.Cut(after, "\n\n"); strings.TrimSpace(table) != strings.TrimSpace(want.String()) {
		t.Errorf("the table of docs/security.md has to be\n%s%s", head, want.String())
	}
}
