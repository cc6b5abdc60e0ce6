package suite

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
)

// unaudited are rights that never appear in a request to the hub, each with the reason.
var unaudited = map[string]string{
	"publish multiclusterapplicationsetreports.apps.open-cluster-management.io": "an admission policy asks for it",
	"create tokenreviews.authentication.k8s.io":                                 "asked when someone scrapes the metrics with a token",
	"create subjectaccessreviews.authorization.k8s.io":                          "the same",
	"list multiclusterhubs.operator.open-cluster-management.io":                 "asked with --resource-source=search, which no fleet has",
	"execute-as manifestworks.work.open-cluster-management.io":                  "asked by a webhook of Open Cluster Management",
}

// excused returns the rights of the controller without a request in the audit log of this run.
func excused() []string {
	out := slices.Collect(maps.Keys(unaudited))
	if *profile == profileACM {
		out = slices.AppendSeq(out, maps.Keys(rare))
	}
	return out
}

// audited yields the lines of the hub's audit log, with the rotated parts of the log.
func audited() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		GinkgoHelper()
		for line, err := range towline.Audited(f) {
			Expect(err).NotTo(HaveOccurred())
			if !yield(line) {
				return
			}
		}
	}
}

// wholeFilters are the label filters of runs that use every right.
var wholeFilters = []string{"!maestro", "!long && !maestro", "!long && !nightly && !maestro", acmSpecs}

// TestHalvesCheckRights: the halves check the rights. With a label filter of the Makefile that wholeFilters lacks, the halves
// would skip the check without a word.
func TestHalvesCheckRights(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`E2E_SHORT ?= ?([^'\n]+)`).FindAllSubmatch(makefile, -1)
	if len(found) != 2 { // the filter of e2e-short, and the filter of make test
		t.Fatalf("%d values of E2E_SHORT in the Makefile, want 2", len(found))
	}
	for _, filter := range found {
		if !slices.Contains(wholeFilters, string(filter[1])) {
			t.Errorf("wholeFilters lacks %q", filter[1])
		}
	}
}

// wholeRun returns whether all specs passed on the suite's own fleet. A half of the files counts as whole, and so does a run
// without the long or the nightly specs. A smaller selection does not use every right.
func wholeRun() bool {
	c, _ := GinkgoConfiguration()
	chosen := len(c.FocusStrings) + len(c.SkipStrings) + len(c.FocusFiles) + len(c.SkipFiles)
	if *half != "" {
		chosen-- // the files of the half
	}
	return chosen == 0 && slices.Contains(wholeFilters, c.LabelFilter) && len(failures) == 0 && tow != nil && os.Getenv("TOWLINE_E2E_FLEET") == ""
}

// withRules changes the rules of a ClusterRole. The returned function restores the rules. The end of the spec restores
// them too.
func withRules(
	ctx context.Context, on client.Client, name string, change func([]rbacv1.PolicyRule) []rbacv1.PolicyRule,
) (back func(context.Context)) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(on.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
	all := role.DeepCopy().Rules
	set := func(ctx context.Context, rules []rbacv1.PolicyRule) {
		Expect(on.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
		role.Rules = rules
		Expect(on.Update(ctx, role)).To(Succeed())
	}
	changed := change(role.DeepCopy().Rules)
	Expect(changed).NotTo(Equal(all))
	set(ctx, changed)
	back = func(ctx context.Context) { set(ctx, all) }
	DeferCleanup(back)
	return back
}

// expectRefused waits until an API server refuses a right to a ServiceAccount of Argo CD's namespace. The authorizer
// watches roles, and permits a request that comes a moment after the change of a role.
func expectRefused(ctx context.Context, on client.Client, account, verb, group, resource string) {
	GinkgoHelper()
	Eventually(ctx, allowed(on, serviceAccount(account), verb, group, resource, "")).Should(BeFalse(), "%s may still %s %s", account, verb, resource)
}

// expectAllowed waits until an API server grants a right to a ServiceAccount of Argo CD's namespace. A request that
// comes too early is refused, and not always repeated.
func expectAllowed(ctx context.Context, on client.Client, account, verb, group, resource string) {
	GinkgoHelper()
	Eventually(ctx, allowed(on, serviceAccount(account), verb, group, resource, "")).Should(BeTrue(), "%s may not %s %s yet", account, verb, resource)
}

// serviceAccount returns the user name of a ServiceAccount of Argo CD's namespace.
func serviceAccount(name string) string {
	return "system:serviceaccount:" + argocdNamespace + ":" + name
}

// allowed returns a function that asks an API server's authorizer. An empty namespace means all namespaces.
func allowed(on client.Client, user, verb, group, resource, namespace string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: resource},
		}}
		err := on.Create(ctx, review)
		return review.Status.Allowed, err
	}
}

// ownerless is a report without a work, in a separate namespace. Towline deletes the report after a minute. No spec
// waits for the deletion.
const ownerless = `
{apiVersion: v1, kind: Namespace, metadata: {name: ownerless}}
---
{apiVersion: apps.open-cluster-management.io/v1alpha1, kind: ApplicationReport, metadata: {name: ownerless, namespace: ownerless},
 observedAt: "2026-01-01T00:00:00Z", application: {name: ownerless, namespace: ownerless, resourceVersion: "1"}}
`

// checkRights is the last check of the suite while the hub runs.
func checkRights(ctx context.Context) {
	GinkgoHelper()
	By("the report that no work owns")
	Eventually(ctx, read(hub, raw("apps.open-cluster-management.io/v1alpha1", "ApplicationReport", "ownerless", "ownerless"))).Should(BeNil())
	By("the rights of the controller and of the agents on the hub")
	must := func(rights []string, err error) []string {
		GinkgoHelper()
		Expect(err).NotTo(HaveOccurred())
		return rights
	}
	used := func(did func(user string) bool) []string {
		GinkgoHelper()
		requests, err := towline.RequestsOf(f, did)
		return must(requests.Permitted, err)
	}
	controller := fmt.Sprintf("system:serviceaccount:%s:%s", towline.Namespace, towline.ServiceAccount)
	usages := map[string]usage{
		"the controller": {
			Granted: must(towline.RightsOf(ctx, hub, towline.Account(towline.Namespace, towline.ServiceAccount))),
			Used:    used(func(user string) bool { return user == controller }),
			Excused: excused(),
		},
		"the agents": {
			Granted: must(towline.RulesOf(ctx, hub, client.ObjectKey{Name: "towline-agent"})),
			Used: used(func(user string) bool {
				return strings.HasSuffix(user, ":addon:towline-agent:agent:towline-agent-agent")
			}),
			// An apply of a missing object needs the right create, but the audit log records only a patch.
			Excused: []string{"create applicationreports.apps.open-cluster-management.io"},
		},
	}
	if *half != "" {
		var complete bool
		if usages, complete = ofBothHalves(usages); !complete {
			return
		}
	}
	for who, u := range usages {
		Expect(u.Used).NotTo(BeEmpty(), "the audit log has no request of "+who)
		Expect(u.never()).To(BeEmpty(), "granted to "+who+" and never used")
	}
}
