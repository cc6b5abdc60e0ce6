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
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/fixture/apiserver"
)

const (
	soon = time.Minute
	tick = 100 * time.Millisecond
)

// startHub starts an API server with the CRDs of a hub. The caller creates the roles, the objects and the admission
// policies.
func startHub(t *testing.T) *hub {
	t.Helper()
	env := apiserver.Start(t)
	return &hub{env: env, admin: clientOf(t, env.Config)}
}

// objects returns the objects of a file. A Role or RoleBinding without a namespace gets Argo CD's namespace.
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

// policies returns the files of the admission policies, without the policies with a warning as the only action.
func policies(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(apiserver.Files(t, "../admission/*.yaml"), func(file string) bool {
		return filepath.Base(file) == "kustomization.yaml" || warns(t, file)
	})
}

// accounts are the attackers with a token of a ServiceAccount.
var accounts = map[string]types.NamespacedName{
	aTokenAgent: {Namespace: "cluster1", Name: "addon"},
	aGRPC:       {Namespace: "open-cluster-management-hub", Name: "grpc-server-sa"},
	aJoiner:     {Namespace: "open-cluster-management", Name: "agent-registration-bootstrap"},
	aThief:      {Namespace: argocdNamespace, Name: "towline-controller"},
}

// certificates are the users and groups of the attackers with a client certificate. The names are from Kubernetes and
// Open Cluster Management. AWS IAM authenticates with a token instead of a certificate. The user and the group are the
// same.
var certificates = map[string]envtest.User{
	aTenant: {Name: "tenant"},
	anAgent: {Name: "system:open-cluster-management:cluster1:agent", Groups: []string{"system:open-cluster-management:cluster1"}},
	// The API server gives this user and these groups to a bootstrap token of `clusteradm init --use-bootstrap-token`.
	aBootstrapper: {Name: "system:bootstrap:ocmhub", Groups: []string{"system:bootstrappers", "system:bootstrappers:managedcluster"}},
	anIAMAgent:    {Name: "cluster1", Groups: []string{"open-cluster-management:cluster1"}},
	anAddOn: {Name: "system:open-cluster-management:cluster:cluster1:addon:towline-agent:agent:hostile",
		Groups: []string{"system:open-cluster-management:cluster:cluster1:addon:towline-agent", "system:open-cluster-management:addon:towline-agent"}},
}

// attackersOf returns a client for each attacker, with a separate identity on the hub. The identity is a certificate
// signed by the hub's CA, or a token issued by the hub.
func attackersOf(t *testing.T, h *hub) map[string]client.Client {
	t.Helper()
	out := map[string]client.Client{}
	for who, user := range certificates {
		u, err := h.env.AddUser(user, nil)
		if err != nil {
			t.Fatal(err)
		}
		out[who] = clientOf(t, u.Config())
	}
	for who, key := range accounts {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		if err := h.admin.Create(t.Context(), account); err != nil {
			t.Fatal(err)
		}
		token := &authenticationv1.TokenRequest{}
		if err := h.admin.SubResource("token").Create(t.Context(), account, token); err != nil {
			t.Fatal(err)
		}
		config := rest.AnonymousClientConfig(h.env.Config)
		config.BearerToken = token.Status.Token
		out[who] = clientOf(t, config)
	}
	return out
}

func clientOf(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1 // no client-side limit, because each attack reads the whole hub twice
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAttacksAreRefused: the guard of each attack refuses the request, and no object on the hub changes. Without the
// admission policies, the same attacker succeeds if a policy is the guard. If RBAC is the guard, an administrator
// succeeds with the same request. In both cases an object changes.
func TestAttacksAreRefused(t *testing.T) {
	h := startHub(t)
	for _, file := range []string{"testdata/hub.yaml", "../rbac/role.yaml", "../rbac/decisions.yaml", "../addon/hub_role.yaml"} {
		create(t, h.admin, objects(t, file)...)
	}
	attackers := attackersOf(t, h)

	t.Run("without policies", func(t *testing.T) {
		for _, r := range refusals {
			t.Run(r.by+" "+r.what, func(t *testing.T) {
				before := h.state(t)
				err := r.try(t.Context(), attackers[r.by])
				if r.guard == byRBAC {
					h.expectRefused(t, err, r.says, before)
					return
				}
				h.expectDone(t, err, r, before)
			})
		}
	})
	for _, file := range policies(t) {
		create(t, h.admin, objects(t, file)...)
	}
	h.awaitPolicies(t, attackers)
	t.Run("with policies", func(t *testing.T) {
		for _, r := range refusals {
			t.Run(r.by+" "+r.what, func(t *testing.T) {
				before := h.state(t)
				h.expectRefused(t, r.try(t.Context(), attackers[r.by]), r.says, before)
			})
		}
	})
	t.Run("a cluster that joins as its agent does", func(t *testing.T) {
		for _, who := range []string{aJoiner, aBootstrapper, aGRPC} {
			before := h.state(t)
			h.expectDone(t, joinsAsItShould(t.Context(), attackers[who]), refusal{guard: policyJoins}, before)
		}
	})
	t.Run("by an administrator", func(t *testing.T) {
		for _, r := range refusals {
			if r.guard != byRBAC {
				continue
			}
			t.Run(r.what, func(t *testing.T) {
				before := h.state(t)
				h.expectDone(t, r.try(t.Context(), h.admin), r, before)
			})
		}
	})
}

// awaitPolicies waits until the API server enforces each policy, because the API server needs some time after the
// creation of a policy. The requests are dry runs.
func (h *hub) awaitPolicies(t *testing.T, attackers map[string]client.Client) {
	t.Helper()
	for _, r := range refusals {
		if r.guard == byRBAC {
			continue
		}
		dry := client.NewDryRunClient(attackers[r.by])
		NewWithT(t).Eventually(func(ctx context.Context) error { return r.try(ctx, dry) }, soon, tick).
			WithContext(t.Context()).Should(refusedWith(r.says), r.guard)
	}
}

// refusedWith matches an error of the API server (Forbidden or Invalid) with the given words.
func refusedWith(says string) OmegaMatcher {
	return And(HaveOccurred(), Or(Satisfy(apierrors.IsForbidden), Satisfy(apierrors.IsInvalid)), MatchError(ContainSubstring(says)))
}

// TestEachPolicyRefuses: each admission policy is the guard of at least one attack.
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

// TestAttacksAreDocumented: the table of docs/security.md has the attacks in the order of the list, and the page has
// the number of the attacks.
func TestAttacksAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	const head = "| who | tries this | refused by | with the words | without the policies |\n|---|---|---|---|---|\n"
	var want strings.Builder
	seen := map[string]bool{}
	for _, r := range refusals {
		without := "carried out"
		if r.guard == byRBAC {
			without = "refused"
		}
		line := fmt.Sprintf("| %s | %s | %s | `%s` | %s |\n", r.by, r.what, r.guard, r.says, without)
		if seen[r.by+r.what] {
			t.Errorf("twice: %s", line)
		}
		seen[r.by+r.what] = true
		want.WriteString(line)
	}
	before, after, _ := strings.Cut(string(page), head)
	if table, _, _ := strings.Cut(after, "\n\n"); strings.TrimSpace(table) != strings.TrimSpace(want.String()) {
		t.Errorf("the table of docs/security.md has to be\n%s%s", head, want.String())
	}
	if number := fmt.Sprintf("The %d requests below", len(refusals)); !strings.Contains(before, number) || len(refusals) < 70 {
		t.Errorf("docs/security.md has to say: %s", number)
	}
}
