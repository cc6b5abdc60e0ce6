package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/why"
)

// whyTeam is the namespace of a team of the hub. whyHeld is a finalizer that keeps AppliedManifestWorks on a cluster,
// and a ManagedCluster on the hub.
const whyTeam, whyHeld = "why-team", "towline.io/e2e"

// asked is an Application that is stopped for a reason.
type asked struct {
	// edit changes a deliverable Application for cluster1 into the stopped Application.
	edit func(b *fixture.ApplicationBuilder)

	// then is called after the creation of the Application. It may be nil.
	then func(ctx context.Context, app *argocd.Application)

	// as is the reason that an administrator sees if no decision has the reason. Empty means the reason of the map's
	// key.
	as string
}

// annotated returns an edit that gives an Application an annotation.
func annotated(key, value string) func(*fixture.ApplicationBuilder) {
	return func(b *fixture.ApplicationBuilder) { b.Annotation(key, value) }
}

// inProject returns an edit that puts an Application into an AppProject.
func inProject(project string) func(*fixture.ApplicationBuilder) {
	return func(b *fixture.ApplicationBuilder) { b.Spec(specOf(project, "guestbook", "why")) }
}

// onCluster returns an edit that makes an Application name a cluster.
func onCluster(name string) func(*fixture.ApplicationBuilder) {
	return func(b *fixture.ApplicationBuilder) { b.Cluster(name) }
}

// held returns a function that waits until the Application is sent, and keeps its work from disappearing. It then
// patches the Application, or deletes the Application if the patch is empty. A work stays as long as its cluster has an
// AppliedManifestWork for the work.
func held(patch string) func(ctx context.Context, app *argocd.Application) {
	return func(ctx context.Context, app *argocd.Application) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			records := &workv1.AppliedManifestWorkList{}
			g.Expect(cluster["cluster1"].List(ctx, records)).To(Succeed())
			i := slices.IndexFunc(records.Items, func(r workv1.AppliedManifestWork) bool { return r.Spec.ManifestWorkName == workOf(app).Name })
			g.Expect(i).To(BeNumerically(">=", 0))
			controllerutil.AddFinalizer(&records.Items[i], whyHeld)
			g.Expect(cluster["cluster1"].Update(ctx, &records.Items[i])).To(Succeed())
		}).Should(Succeed())
		if patch == "" {
			Expect(hub.Delete(ctx, app)).To(Succeed())
			return
		}
		change(ctx, hub, app, patch)
	}
}

// askedFor returns Applications for each reason that a fleet can reach soon.
func askedFor() map[string]asked {
	return map[string]asked{
		apis.ReasonPaused:                   {edit: annotated(apis.AnnotationPaused, "true")},
		apis.ReasonClusterAnnotationMissing: {edit: func(b *fixture.ApplicationBuilder) { b.NoAnnotation(apis.AnnotationCluster) }},
		apis.ReasonClusterNameInvalid:       {edit: onCluster("Not a name")},
		apis.ReasonClusterNotFound:          {edit: onCluster("nowhere")},
		apis.ReasonClusterNotAccepted:       {edit: onCluster("why-unaccepted")},
		apis.ReasonClusterDeleting:          {edit: onCluster("why-going")},
		apis.ReasonLocalClusterConflict:     {edit: onCluster("why-local")},
		apis.ReasonNamespaceInvalid:         {edit: annotated(apis.AnnotationAppNamespace, "Not a name")},
		apis.ReasonSkipReconcileMissing:     {edit: func(b *fixture.ApplicationBuilder) { b.NoAnnotation(apis.AnnotationSkipReconcile) }},
		apis.ReasonSourceUnsupported: {edit: func(b *fixture.ApplicationBuilder) {
			b.Annotation(apis.AnnotationSource, apis.SourceHub).Spec(`{"project":"default","source":{"repoURL":"https://charts.example.com",` +
				`"chart":"redis","targetRevision":"1.0.0"},"destination":{"server":"https://kubernetes.default.svc","namespace":"guestbook"}}`)
		}},
		apis.ReasonAnnotationInvalid: {edit: annotated(apis.AnnotationAdopt, "odd")},

		apis.ReasonClusterForbidden:     {edit: func(b *fixture.ApplicationBuilder) { b.Namespace(whyTeam).Cluster("cluster2") }},
		apis.ReasonProjectForbidden:     {edit: func(b *fixture.ApplicationBuilder) { b.Namespace(whyTeam) }},
		apis.ReasonProjectNotFound:      {edit: inProject("why-none")},
		apis.ReasonSourceForbidden:      {edit: inProject("why-sources")},
		apis.ReasonDestinationForbidden: {edit: inProject("why-destinations")},
		apis.ReasonExecutorInvalid:      {edit: inProject("why-executor")},
		apis.ReasonNamespaceForbidden: {edit: func(b *fixture.ApplicationBuilder) {
			inProject("why-team")(b.Namespace(whyTeam).Annotation(apis.AnnotationAppNamespace, "elsewhere"))
		}},
		apis.ReasonManifestsForbidden: {edit: func(b *fixture.ApplicationBuilder) {
			b.Operation(`{"sync":{"manifests":["{}"]}}`)
		}},
		apis.ReasonPayloadTooLarge: {edit: func(b *fixture.ApplicationBuilder) {
			b.Spec(strings.Replace(spec("guestbook", "why"), "{", `{"info":[{"name":"x","value":"`+strings.Repeat("x", 600<<10)+`"}],`, 1))
		}, as: apis.ConditionPropagationError},

		apis.ReasonTargetConflict:  {edit: annotated(apis.AnnotationAppNamespace, whyTeam)},
		apis.ReasonAdoptionRefused: {edit: onCluster("cluster1"), as: apis.ConditionPropagationError},
		apis.ReasonWorkConflict: {edit: annotated(apis.AnnotationPaused, "true"), then: func(ctx context.Context, app *argocd.Application) {
			GinkgoHelper()
			w := workOf(app)
			w.Spec.Workload.Manifests = []workv1.Manifest{}
			Expect(hub.Create(ctx, w)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
				Expect(client.IgnoreNotFound(hub.Delete(ctx, w))).To(Succeed())
			})
			change(ctx, hub, app, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, apis.AnnotationPaused))
		}},
		apis.ReasonWorkRejected: {edit: onCluster("cluster1"), as: apis.ConditionPropagationError},

		apis.ReasonReleased:  {edit: annotated(apis.AnnotationRelease, "true")},
		apis.ReasonReleasing: {edit: onCluster("cluster1"), then: held(fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, apis.AnnotationRelease))},
		apis.ReasonMoving: {edit: onCluster("cluster1"), then: held(fmt.Sprintf(`{"metadata":{"annotations":{%q:"cluster2"}}}`,
			apis.AnnotationCluster))},
		apis.ReasonDeleting: {edit: func(b *fixture.ApplicationBuilder) { b.Finalizers(apis.FinalizerResources) }, then: held("")},

		apis.ReasonDependencyInvalid: {edit: annotated(apis.AnnotationWith, "nonsense"), as: apis.ConditionDependencyError},
		apis.ReasonDependencyMissing: {edit: annotated(apis.AnnotationWith, "configmap/none"), as: apis.ConditionDependencyError},
	}
}

// askedElsewhere are the reasons that no spec of this file can cause. Each has the test that covers the reason, and why
// this file cannot.
var askedElsewhere = map[string][2]string{
	apis.ReasonHubOperationRunning:     {"push_pull_test.go", "it takes an Argo CD of the hub that deploys"},
	apis.ReasonDestinationConflict:     {"../../controllers/envtest/destination_test.go", "it takes the work of an older controller"},
	apis.ReasonEditedAgain:             {"../../pkg/delivery/edits_test.go", "it takes edits that go on for a minute; drift_test.go makes them"},
	apis.ReasonSpecInvalid:             {"../../pkg/delivery/decide_test.go", "the schema of Argo CD's CRD refuses it"},
	apis.ReasonOperationInvalid:        {"../../controllers/envtest/requests_test.go", "the schema of Argo CD's CRD refuses it"},
	apis.ReasonClusterNamespaceMissing: {"../../controllers/envtest/lifecycle_test.go", "OCM makes the namespace at once"},
	apis.ReasonRevoked:                 {"../../controllers/envtest/revocation_test.go", "it takes Towline with another flag, which remembers"},
	apis.ReasonRevocationHeld:          {"../../controllers/envtest/revocation_grace_test.go", "it takes Towline with another flag, which remembers"},
	apis.ReasonHeldInOutage:            {"../../controllers/envtest/outage_test.go", "it takes an outage"},
	apis.ReasonOutageOver:              {"../../pkg/delivery/outage_test.go", "it lasts for as long as an ApplicationSet needs"},
	apis.ReasonDependencyForbidden:     {"../../controllers/envtest/dependencies_limits_test.go", "on the Application the reason is as the others"},
	apis.ReasonDependencyRefused:       {"../../controllers/envtest/dependencies_test.go", "on the Application the reason is as the others"},
}

// TestEveryReasonIsAsked checks that each reason for a stopped Application is caused by a spec of this file, or by a
// named test with an explanation.
func TestEveryReasonIsAsked(t *testing.T) {
	here := askedFor()
	for _, reason := range append(why.Reasons(),
		apis.ReasonDependencyInvalid, apis.ReasonDependencyMissing, apis.ReasonDependencyForbidden, apis.ReasonDependencyRefused) {
		other, elsewhere := askedElsewhere[reason]
		if _, is := here[reason]; is == elsewhere {
			t.Errorf("%s: in askedFor: %t, in askedElsewhere: %t", reason, is, elsewhere)
		}
		if !elsewhere {
			continue
		}
		text, err := os.ReadFile(other[0])
		if err != nil || !strings.Contains(string(text), reason) || other[1] == "" {
			t.Errorf("%s: %s does not have it: %v", reason, other[0], err)
		}
	}
}

// whyGiven returns the hub's objects for askedFor, except the Applications.
func whyGiven() string {
	return fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: why-team}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: why-tenant}
rules: [{apiGroups: [argoproj.io], resources: [applications, applicationsets], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: why-tenant, namespace: argocd}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: why-tenant}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: why-tenant}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: why-tenant, namespace: why-team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: why-tenant}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: why-tenant}]
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: why-team}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {matchLabels: {name: cluster1}}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: why-team, namespace: why-team}
spec: {clusterSet: why-team}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: why-team, namespace: argocd}
spec: {sourceNamespaces: [why-team], sourceRepos: ["*"], destinations: [{name: "*", server: "*", namespace: "*"}]}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: why-sources, namespace: argocd}
spec: {sourceRepos: ["https://git.example.com/*"], destinations: [{name: "*", server: "*", namespace: "*"}]}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: why-destinations, namespace: argocd}
spec: {sourceRepos: ["*"], destinations: [{name: elsewhere, namespace: elsewhere}]}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: why-executor, namespace: argocd, annotations: {%q: nonsense}}
spec: {sourceRepos: ["*"], destinations: [{name: "*", server: "*", namespace: "*"}]}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: why-unaccepted}, spec: {hubAcceptsClient: false}}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: why-local, labels: {local-cluster: "true"}}
spec: {hubAcceptsClient: true}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: why-going, finalizers: [%s]}
spec: {hubAcceptsClient: true}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: why-rejected}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [work.open-cluster-management.io], apiVersions: ["*"], resources: [manifestworks], operations: [CREATE]}]
  validations: [{expression: "!object.metadata.name.startsWith('why-workrejected-')", message: somebody does not like it}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: why-rejected}
spec: {policyName: why-rejected, validationActions: [Deny]}
`, apis.AnnotationExecutor, whyHeld)
}

// whyGone removes the Applications, and all objects that would disturb later specs: clusters, finalizers, and the
// policy that refuses works.
func whyGone(ctx context.Context, apps []*argocd.Application) {
	GinkgoHelper()
	for _, app := range apps {
		Expect(client.IgnoreNotFound(hub.Delete(ctx, app))).To(Succeed())
	}
	letGo(ctx, hub, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "why-going"}})
	for _, args := range [][]string{
		{"managedclusters", "why-unaccepted", "why-local", "why-going", "--wait=false"}, {"validatingadmissionpolicybindings", "why-rejected"},
		{"validatingadmissionpolicies", "why-rejected"}, {"managedclustersets.cluster.open-cluster-management.io", "why-team", "--wait=false"},
	} {
		_, err := f.Hub.Kubectl(ctx, append([]string{"delete", "--ignore-not-found"}, args...)...)
		Expect(err).NotTo(HaveOccurred())
	}
	records := &workv1.AppliedManifestWorkList{}
	Expect(cluster["cluster1"].List(ctx, records)).To(Succeed())
	for i := range records.Items {
		letGo(ctx, cluster["cluster1"], &records.Items[i])
	}
	for _, app := range apps {
		Eventually(ctx, read(hub, app)).Should(BeNil(), app.Name)
		if app.Namespace == whyTeam { // the cluster refuses all of the work, also its release: the work would stay
			w := workOf(app)
			Expect(client.IgnoreNotFound(hub.Delete(ctx, w))).To(Succeed())
			Eventually(ctx, read(hub, w)).Should(BeNil(), w.Name)
		}
	}
}

// letGo removes the finalizer whyHeld from an object. It retries, because other components write the object too.
func letGo(ctx context.Context, api client.Client, obj client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		err := api.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil && controllerutil.RemoveFinalizer(obj, whyHeld) {
			err = api.Update(ctx, obj)
		}
		return client.IgnoreNotFound(err)
	}).Should(Succeed())
}

var _ = Describe("kubectl towline why tells", Ordered, ContinueOnFailure, func() {
	var plugin, tenant string
	apps := map[string]*argocd.Application{}

	// asks runs the plugin, and returns the diagnosis and the exit code.
	asks := func(ctx context.Context, kubeconfig string, app *argocd.Application) (*why.Diagnosis, int, error) {
		out, code, err := ran(ctx, plugin, kubeconfig, "why", "-n", app.Namespace, app.Name, "-o", "json")
		if err != nil {
			return nil, code, err
		}
		l := &why.Diagnosis{}
		if err := json.NewDecoder(strings.NewReader(out)).Decode(l); err != nil { // stderr comes after the JSON
			return nil, code, fmt.Errorf("%w: %s", err, out)
		}
		return l, code, nil
	}

	BeforeAll(func(ctx SpecContext) {
		var err error
		plugin, err = towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		tenant, err = f.Hub.UserKubeconfig("why-tenant")
		Expect(err).NotTo(HaveOccurred())
		apply(ctx, whyGiven())
		DeferCleanup(func(ctx SpecContext) {
			all := make([]*argocd.Application, 0, len(apps))
			for _, app := range apps {
				all = append(all, app)
			}
			whyGone(ctx, all)
		})
		_, err = f.Hub.Kubectl(ctx, "delete", "managedcluster", "why-going", "--wait=false")
		Expect(err).NotTo(HaveOccurred())
		made := func(reason string, b *fixture.ApplicationBuilder, edit func(*fixture.ApplicationBuilder)) {
			edit(b)
			apps[reason] = b.UID("").Obj()
			Expect(hub.Create(ctx, apps[reason])).To(Succeed(), reason)
		}

		// An Application that occupies a target, and an Application that exists on the cluster already.
		made("taken", fixture.Application("why-targetconflict").Namespace(whyTeam).Cluster("cluster1"), func(b *fixture.ApplicationBuilder) {
			inProject("why-team")(b)
		})
		there := fixture.Application("why-adoptionrefused").Spec(spec("kustomize-guestbook/overlays/dev", "why-there")).UID("").Obj()
		there.Labels, there.Annotations = nil, nil
		Expect(cluster["cluster1"].Create(ctx, there)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(cluster["cluster1"].Delete(ctx, there))).To(Succeed())
		})
		Eventually(ctx, read(hub, workOf(apps["taken"]))).ShouldNot(BeNil())
		rejected := &workv1.ManifestWork{}
		rejected.Namespace, rejected.Name = "cluster1", "why-workrejected-probe"
		rejected.Spec.Workload.Manifests = []workv1.Manifest{}
		Eventually(ctx, func(ctx context.Context) error { return hub.Create(ctx, rejected.DeepCopy(), client.DryRunAll) }).
			Should(MatchError(ContainSubstring("somebody does not like it")))

		for reason, a := range askedFor() {
			b := fixture.Application("why-" + strings.ToLower(reason)).Cluster("cluster1").Spec(spec("guestbook", "why"))
			made(reason, b, a.edit)
		}
		for reason, a := range askedFor() {
			if a.then != nil {
				a.then(ctx, apps[reason])
			}
		}
	}, NodeTimeout(3*soon))

	for reason, a := range askedFor() {
		It("of "+reason, func(ctx SpecContext) {
			Eventually(ctx, func(g Gomega, ctx context.Context) {
				l, code, err := asks(ctx, f.Hub.Kubeconfig(), apps[reason])
				g.Expect(err).NotTo(HaveOccurred())
				b := l.Broken()
				g.Expect(b).NotTo(BeNil())
				if a.as == "" {
					g.Expect(b.Reason).To(Equal(reason), "%+v", b)
				} else {
					g.Expect(b.Reason).To(BeElementOf(reason, a.as), "%+v", b)
				}
				g.Expect(b.Do).NotTo(BeEmpty(), "%+v", b)

				said, saidCode, err := asks(ctx, tenant, apps[reason])
				g.Expect(err).NotTo(HaveOccurred())
				t := said.Broken()
				g.Expect(t).NotTo(BeNil())
				g.Expect(t.Message).To(Equal(b.Message), "what an administrator and a tenant are told")
				g.Expect(saidCode).To(Equal(code))
				g.Expect(t.Do).NotTo(BeEmpty(), "%+v", t)
				g.Expect(said.Unread).NotTo(BeEmpty(), "a tenant may not read all")
				g.Expect(slices.ContainsFunc(said.Unread, func(u string) bool { return strings.Contains(u, "manifestworks") })).To(BeTrue())
			}).Should(Succeed())
		})
	}
})
