package attacks_test

import (
	"context"
	"fmt"
	"maps"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
)

const (
	argocdNamespace, tenantNamespace = "argocd", "tenant-a"

	// victim is the name of a foreign tenant's Application and ApplicationSet.
	victim = "victim"

	// clusterSecret is the name of Argo CD's Secret for the cluster cluster1.
	clusterSecret = "cluster1-secret"

	// allowedAddress is the address of no cluster. An AppProject may permit the address.
	allowedAddress = "https://production.example.com:6443"
)

// The attackers of refusals, with the names in docs/security.md. Each attacker has a separate identity on the hub.
const (
	aTenant       = "tenant"
	anAgent       = "work agent"
	anIAMAgent    = "work agent by AWS IAM"
	aTokenAgent   = "add-on by token"
	anAddOn       = "Towline's agent"
	aGRPC         = "gRPC registration"
	aJoiner       = "joining cluster"
	aBootstrapper = "joining cluster by bootstrap token"
	aThief        = "Towline's own token"
)

// byRBAC is the guard of a request refused because of a missing right, and not by an admission policy.
const byRBAC = "RBAC"

// A refusal is an attack: a request refused by the API server.
type refusal struct {
	// by is the attacker. what is the request in words. guard is the admission policy against the request, or byRBAC.
	by, what, guard string

	// says is a part of the API server's error message.
	says string

	try sending
}

// A sending sends a request with the identity of the client.
type sending func(ctx context.Context, c client.Client) error

// The kinds of the objects in refusals.
var (
	workKind    = kind{"work.open-cluster-management.io/v1", "ManifestWork"}
	appKind     = kind{"argoproj.io/v1alpha1", "Application"}
	setKind     = kind{"argoproj.io/v1alpha1", "ApplicationSet"}
	projectKind = kind{"argoproj.io/v1alpha1", "AppProject"}
	reportKind  = kind{"apps.open-cluster-management.io/v1alpha1", "MulticlusterApplicationSetReport"}
	ownReport   = kind{"apps.open-cluster-management.io/v1alpha1", "ApplicationReport"}
	gitOpsKind  = kind{"apps.open-cluster-management.io/v1beta1", "GitOpsCluster"}
	clusterKind = kind{"cluster.open-cluster-management.io/v1", "ManagedCluster"}
	bindingKind = kind{"cluster.open-cluster-management.io/v1beta2", "ManagedClusterSetBinding"}
	setOfKind   = kind{"cluster.open-cluster-management.io/v1beta2", "ManagedClusterSet"}
	decision    = kind{"cluster.open-cluster-management.io/v1beta1", "PlacementDecision"}
	policyKind  = kind{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"}
	rightsKind  = kind{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"}
	namespaces  = kind{"v1", "Namespace"}
	secretKind  = kind{"v1", "Secret"}
	configKind  = kind{"v1", "ConfigMap"}
	accountKind = kind{"v1", "ServiceAccount"}
	localRights = kind{"rbac.authorization.k8s.io/v1", "RoleBinding"}
	eventKind   = kind{"events.k8s.io/v1", "Event"}
	leaseKind   = kind{"coordination.k8s.io/v1", "Lease"}
	placement   = kind{"cluster.open-cluster-management.io/v1beta1", "Placement"}
)

type kind struct{ apiVersion, kind string }

func (k kind) named(namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(k.apiVersion)
	u.SetKind(k.kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// patches changes an object by a merge patch.
func (k kind) patches(namespace, name, patch string) sending {
	return func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, k.named(namespace, name), client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}

// updates sets a field of an object by a get and an update, for attackers with the right to update but not to patch.
func (k kind) updates(namespace, name string, value any, path ...string) sending {
	return func(ctx context.Context, c client.Client) error {
		u := k.named(namespace, name)
		if err := c.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			return err
		}
		return c.Update(ctx, u)
	}
}

// creates creates an object with a namespace, a name and the given fields.
func (k kind) creates(namespace, name string, fields map[string]any) sending {
	return func(ctx context.Context, c client.Client) error {
		u := k.named(namespace, name)
		maps.Copy(u.Object, runtime.DeepCopyJSON(fields))
		u.SetNamespace(namespace)
		u.SetName(name)
		return c.Create(ctx, u)
	}
}

func (k kind) deletes(namespace, name string) sending {
	return func(ctx context.Context, c client.Client) error { return c.Delete(ctx, k.named(namespace, name)) }
}

// ofWork patches Towline's work for the cluster cluster1.
func ofWork(patch string) sending { return workKind.patches("cluster1", "work", patch) }

// lists lists the objects of the kind in a namespace.
func (k kind) lists(namespace string) sending {
	return func(ctx context.Context, c client.Client) error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(k.apiVersion)
		list.SetKind(k.kind + "List")
		return c.List(ctx, list, client.InNamespace(namespace))
	}
}

// readsSecrets lists the Secrets in a namespace.
func readsSecrets(namespace string) sending { return secretKind.lists(namespace) }

// asksToken requests a token of the ServiceAccount argocd-server in Argo CD's namespace. The ServiceAccount writes
// cluster Secrets.
func asksToken(ctx context.Context, c client.Client) error {
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = argocdNamespace, "argocd-server"
	return c.SubResource("token").Create(ctx, account, &authenticationv1.TokenRequest{})
}

const (
	changesSpec        = "may not change the spec of a ManifestWork"
	changesMarks       = "may not change labels, annotations or owners of a ManifestWork"
	changesLabels      = "may not change the labels of its ManagedCluster"
	changesNotes       = "may not change annotations of Towline on its ManagedCluster"
	changesPlace       = "may not change the addresses"
	changesTaints      = "may not change the taints"
	joinsLabelled      = "may create a ManagedCluster with labels"
	joinsNoted         = "may create a ManagedCluster with annotations of Towline"
	changesSet         = "labels, finalizers or owners of an ApplicationSet"
	notesOfApp         = "of an Application's annotations"
	notesOfSet         = "of an ApplicationSet's annotations"
	policyWorks        = "towline-works"
	policyClusters     = "towline-clusters"
	policyJoins        = "towline-joins"
	policyReports      = "towline-reports"
	policyOwnReports   = "towline-applicationreports"
	policyApplications = "towline-applications"
	policySets         = "towline-applicationsets"
	noPatch            = "cannot patch resource"
	noCreate           = "cannot create resource"
	noDelete           = "cannot delete resource"
	noList             = "cannot list resource"
)

// address is a value for the client configs of a ManagedCluster, with the address of the cluster's API server.
var address = []any{map[string]any{"url": allowedAddress}}

// tolerated are taints with a different value than the taint in testdata/hub.yaml. A Placement may tolerate the value.
var tolerated = []any{map[string]any{"key": "quarantine", "value": "false", "effect": "NoSelect"}}

// untaints removes all taints of the cluster cluster1.
var untaints = clusterKind.updates("", "cluster1", []any{}, "spec", "taints")

var (
	anOwner = `[{"apiVersion":"v1","kind":"Namespace","name":"argocd","uid":"x"}]`
	aRow    = map[string]any{"statuses": map[string]any{"summary": map[string]any{"healthy": "7"}}}
	marked  = map[string]any{
		"metadata": map[string]any{"namespace": "cluster1", "name": "forged", "labels": map[string]any{apis.LabelPull: "true"}},
		"spec":     map[string]any{"workload": map[string]any{"manifests": []any{}}},
	}
	heard = map[string]any{
		"observedAt":  "2026-01-01T00:00:00Z",
		"application": map[string]any{"namespace": argocdNamespace, "name": victim, "resourceVersion": "1"},
	}
	anApp = map[string]any{"spec": map[string]any{"project": "default", "destination": map[string]any{"namespace": "x"}}}
	// Cluster Secrets for three attacks: Argo CD would use a cloud identity, run a program, or send a token to a
	// foreign server.
	awsSecret = map[string]any{
		"metadata": map[string]any{"namespace": argocdNamespace, "name": "forged",
			"labels": map[string]any{"argocd.argoproj.io/secret-type": "cluster"}},
		"stringData": map[string]any{"name": "cluster1", "server": allowedAddress, "config": `{"awsAuthConfig":{"roleARN":"arn:aws:iam::1:role/admin"}}`},
	}
	awsConfig   = `{"stringData":{"config":"{\"awsAuthConfig\":{\"roleARN\":\"arn:aws:iam::1:role/admin\"}}"}}`
	execConfig  = `{"stringData":{"config":"{\"execProviderConfig\":{\"command\":\"sh\"}}"}}`
	otherServer = `{"stringData":{"server":"https://evil.example.com"}}`
	anEvent     = map[string]any{
		"eventTime": "2026-01-01T00:00:00.000000Z", "action": "Forged", "reason": "Forged", "type": "Warning", "note": "forged",
		"reportingController": "towline", "reportingInstance": "towline",
		"regarding": map[string]any{"kind": "Application", "apiVersion": "argoproj.io/v1alpha1", "name": victim, "namespace": argocdNamespace},
	}
	aProject = map[string]any{"spec": map[string]any{"sourceRepos": []any{"*"}, "sourceNamespaces": []any{"*"}}}
)

// refusals are all attacks. docs/security.md has a line for each attack, and TestAttacksAreDocumented checks the lines.
var refusals = []refusal{
	{aTokenAgent, "changes labels of its work", policyWorks, changesMarks, ofWork(`{"metadata":{"labels":{"a":"b"}}}`)},
	{aTokenAgent, "has its work speak for another Application", policyWorks, changesMarks,
		ofWork(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, apis.AnnotationHubName, victim))},
	{aTokenAgent, "gives its work an owner, which takes it along", policyWorks, changesMarks,
		ofWork(`{"metadata":{"ownerReferences":` + anOwner + `}}`)},
	{aTokenAgent, "empties the payload of its work", policyWorks, changesSpec, ofWork(`{"spec":{"workload":{"manifests":[]}}}`)},
	{aTokenAgent, "takes the feedback rules off its work", policyWorks, changesSpec, ofWork(`{"spec":{"manifestConfigs":[]}}`)},
	{aTokenAgent, "makes a work in Towline's name", policyWorks, "may not create ManifestWorks in Towline's name",
		workKind.creates("cluster1", "forged", marked)},
	{anAgent, "has its work orphan what a tenant deletes", policyWorks, changesSpec,
		ofWork(`{"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}`)},
	{anIAMAgent, "has its work orphan what a tenant deletes", policyWorks, changesSpec,
		ofWork(`{"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}`)},

	{anAgent, "changes labels of its work", policyWorks, changesMarks, ofWork(`{"metadata":{"labels":{"a":"b"}}}`)},
	{anAgent, "empties the payload of its work", policyWorks, changesSpec, ofWork(`{"spec":{"workload":{"manifests":[]}}}`)},
	{anAgent, "gives its work an owner, which takes it along", policyWorks, changesMarks, ofWork(`{"metadata":{"ownerReferences":` + anOwner + `}}`)},
	{anAgent, "pauses its work's cluster", byRBAC, noPatch,
		clusterKind.patches("", "cluster1", fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, apis.AnnotationPaused))},
	{anAgent, "makes a work in the namespace of another cluster", byRBAC, noCreate, workKind.creates("cluster2", "forged", marked)},
	{anAgent, "reads the works of another cluster", byRBAC, noList, workKind.lists("cluster2")},
	{anAgent, "deletes its work", byRBAC, noDelete, workKind.deletes("cluster1", "work")},
	{anAgent, "reads the Secrets of Argo CD", byRBAC, noList, readsSecrets(argocdNamespace)},
	{anIAMAgent, "empties the payload of its work", policyWorks, changesSpec, ofWork(`{"spec":{"workload":{"manifests":[]}}}`)},
	{anIAMAgent, "gives its work an owner, which takes it along", policyWorks, changesMarks, ofWork(`{"metadata":{"ownerReferences":` + anOwner + `}}`)},
	{anIAMAgent, "makes a work in Towline's name", policyWorks, "may not create ManifestWorks in Towline's name",
		workKind.creates("cluster1", "forged", marked)},
	{anAddOn, "floods the hub with events", byRBAC, noCreate, eventKind.creates("cluster1", "forged", anEvent)},
	{anAddOn, "writes the status of an Application", byRBAC, noPatch,
		appKind.patches(argocdNamespace, victim, `{"status":{"health":{"status":"Healthy"}}}`)},

	{aTokenAgent, "labels its cluster into a set", policyClusters, changesLabels,
		clusterKind.updates("", "cluster1", "b", "metadata", "labels", "tenant")},
	{aTokenAgent, "pauses its cluster", policyClusters, changesNotes,
		clusterKind.updates("", "cluster1", "true", "metadata", "annotations", apis.AnnotationPaused)},
	{aTokenAgent, "claims another's address", policyClusters, changesPlace,
		clusterKind.updates("", "cluster1", address, "spec", "managedClusterClientConfigs")},
	{aTokenAgent, "removes an administrator's taint, to enter a Placement", policyClusters, changesTaints, untaints},
	{aTokenAgent, "has a taint tolerated by another value", policyClusters, changesTaints,
		clusterKind.updates("", "cluster1", tolerated, "spec", "taints")},
	{aGRPC, "labels a cluster into a set", policyClusters, changesLabels,
		clusterKind.updates("", "cluster1", "b", "metadata", "labels", "tenant")},
	{aGRPC, "pauses a cluster", policyClusters, changesNotes,
		clusterKind.updates("", "cluster1", "true", "metadata", "annotations", apis.AnnotationPaused)},
	{aGRPC, "claims another's address", policyClusters, changesPlace,
		clusterKind.updates("", "cluster1", address, "spec", "managedClusterClientConfigs")},
	{aGRPC, "removes an administrator's taint, to enter a Placement", policyClusters, changesTaints, untaints},

	{aJoiner, "joins with a label of a set", policyJoins, joinsLabelled, joins("labels", "tenant", "a")},
	{aJoiner, "joins a set by its name", policyJoins, joinsLabelled, joins("labels", clusterSetLabel, "production")},
	{aJoiner, "joins with the namespace of another Argo CD", policyJoins, joinsNoted, joins("annotations", apis.AnnotationArgoCDNamespace, "victim")},
	{aBootstrapper, "joins with a label of a set", policyJoins, joinsLabelled, joins("labels", "tenant", "a")},
	{aGRPC, "has a cluster join with a label of a set", policyJoins, joinsLabelled, joins("labels", "tenant", "a")},

	{aTenant, "changes what a report of its namespace says", policyReports, "only Towline writes",
		reportKind.patches(tenantNamespace, "mine", `{"statuses":{"summary":{"healthy":"7"}}}`)},
	{aTenant, "makes a report that says something", policyReports, "only Towline writes", reportKind.creates(tenantNamespace, "new", aRow)},
	{anAddOn, "changes a report of another cluster", policyOwnReports, "is not of cluster cluster2",
		ownReport.patches("cluster2", "theirs", `{"status":{"health":{"status":"Degraded"}}}`)},
	{anAddOn, "reports in the namespace of another cluster", policyOwnReports, "is not of cluster cluster2",
		ownReport.creates("cluster2", "forged", heard)},
	{anAddOn, "deletes a report of another cluster", byRBAC, noDelete, ownReport.deletes("cluster2", "theirs")},
	{aTokenAgent, "reports in the namespace of another cluster", byRBAC, noCreate, ownReport.creates("cluster2", "forged", heard)},

	{aThief, "asks an Application for a hard refresh", policyApplications, notesOfApp, ofVictim(apis.AnnotationRefresh, "hard")},
	{aThief, "moves an Application to another cluster", policyApplications, notesOfApp, ofVictim(apis.AnnotationCluster, "cluster1")},
	{aThief, "has an Application follow a Placement", policyApplications, notesOfApp, ofVictim(apis.AnnotationPlacement, "mine")},
	{aThief, "has an Application deleted by force", policyApplications, notesOfApp, ofVictim(apis.AnnotationForceDelete, "true")},
	{aThief, "pauses an Application", policyApplications, notesOfApp, ofVictim(apis.AnnotationPaused, "true")},
	{aThief, "gives an Application a finalizer", policyApplications, "takes off Argo CD's finalizers",
		appKind.patches(argocdNamespace, victim, `{"metadata":{"finalizers":["example.com/mine"]}}`)},
	{aThief, "deletes an Application", byRBAC, noDelete, appKind.deletes(argocdNamespace, victim)},
	{aThief, "gives an Application an owner, which takes it along", policyApplications, "does not change owners of an Application",
		appKind.patches(argocdNamespace, victim, `{"metadata":{"ownerReferences":`+anOwner+`}}`)},
	{aThief, "changes labels of an Application", policyApplications, "does not change labels of an Application",
		appKind.patches(argocdNamespace, victim, `{"metadata":{"labels":{"a":"b"}}}`)},
	{aThief, "changes the spec of an Application", policyApplications, "does not change the spec of an Application",
		appKind.patches(argocdNamespace, victim, `{"spec":{"project":"other"}}`)},
	{aThief, "starts an operation", policyApplications, "of an Application's operation",
		appKind.patches(argocdNamespace, victim, `{"operation":{"sync":{"revision":"evil"}}}`)},
	{aThief, "creates an Application", byRBAC, noCreate, appKind.creates(argocdNamespace, "forged", anApp)},
	{aThief, "writes a cluster Secret with an identity of AWS", byRBAC, noCreate, secretKind.creates(argocdNamespace, "forged", awsSecret)},
	{aThief, "has a cluster Secret run a program", byRBAC, noPatch, secretKind.patches(argocdNamespace, clusterSecret, execConfig)},
	{aThief, "sends a cluster Secret to another address", byRBAC, noPatch, secretKind.patches(argocdNamespace, clusterSecret, otherServer)},
	{aThief, "makes a token of a ServiceAccount", byRBAC, noCreate, asksToken},
	{aThief, "changes a ConfigMap of Argo CD", byRBAC, noPatch, configKind.patches(argocdNamespace, "argocd-cm", `{"data":{"admin.enabled":"true"}}`)},
	{aThief, "changes the spec of an ApplicationSet", policySets, "the spec of an ApplicationSet",
		setKind.patches(argocdNamespace, victim, `{"spec":{"goTemplate":true}}`)},
	{aThief, "changes labels of an ApplicationSet", policySets, changesSet,
		setKind.patches(argocdNamespace, victim, `{"metadata":{"labels":{"a":"b"}}}`)},
	{aThief, "gives an ApplicationSet a finalizer", policySets, changesSet,
		setKind.patches(argocdNamespace, victim, `{"metadata":{"finalizers":["example.com/mine"]}}`)},
	{aThief, "gives an ApplicationSet an owner", policySets, changesSet,
		setKind.patches(argocdNamespace, victim, `{"metadata":{"ownerReferences":`+anOwner+`}}`)},
	{aThief, "annotates an ApplicationSet", policySets, notesOfSet,
		setKind.patches(argocdNamespace, victim, `{"metadata":{"annotations":{"a":"b"}}}`)},
	{aThief, "pauses an ApplicationSet", policySets, notesOfSet,
		setKind.patches(argocdNamespace, victim, fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, apis.AnnotationPaused))},
	{aThief, "deletes an ApplicationSet", byRBAC, noDelete, setKind.deletes(argocdNamespace, victim)},
	{aThief, "reads Secrets outside Argo CD's namespace", byRBAC, noList, readsSecrets(tenantNamespace)},
	{aThief, "gives itself all rights", byRBAC, noCreate, rightsKind.creates("", "forged", map[string]any{
		"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}})},
	{aThief, "widens an AppProject", byRBAC, noPatch, projectKind.patches(argocdNamespace, tenantNamespace, `{"spec":{"sourceRepos":["*"]}}`)},
	{aThief, "binds a ManagedClusterSet", byRBAC, noCreate,
		bindingKind.creates(tenantNamespace, "global", map[string]any{"spec": map[string]any{"clusterSet": "global"}})},
	{aThief, "accepts a cluster, or turns it away", byRBAC, noPatch,
		clusterKind.patches("", "cluster1", `{"spec":{"hubAcceptsClient":false}}`)},
	{aThief, "gives a cluster an address", byRBAC, noPatch, addresses("cluster1")},
	{aThief, "takes an admission policy away", byRBAC, noDelete, policyKind.deletes("", policyApplications)},

	{aTenant, "decides for a Placement", byRBAC, noCreate, decision.creates(tenantNamespace, "forged", nil)},
	{aTenant, "binds a ManagedClusterSet", byRBAC, noCreate,
		bindingKind.creates(tenantNamespace, "global", map[string]any{"spec": map[string]any{"clusterSet": "global"}})},
	{aTenant, "widens its ManagedClusterSet", byRBAC, noPatch, setOfKind.patches("", tenantNamespace, `{"metadata":{"labels":{"a":"b"}}}`)},
	{aTenant, "widens its AppProject", byRBAC, noPatch,
		projectKind.patches(argocdNamespace, tenantNamespace, `{"spec":{"sourceRepos":["*"]}}`)},
	{aTenant, "makes an AppProject of its own", byRBAC, noCreate, projectKind.creates(argocdNamespace, "forged", aProject)},
	{aTenant, "sends a ManifestWork of its own", byRBAC, noCreate, workKind.creates("cluster1", "forged", marked)},
	{aTenant, "reports for a cluster", byRBAC, noCreate, ownReport.creates("cluster1", "forged", heard)},
	{aTenant, "has clusters imported by a GitOpsCluster", byRBAC, noCreate, gitOpsKind.creates(tenantNamespace, "forged", map[string]any{
		"spec": map[string]any{
			"argoServer":   map[string]any{"argoNamespace": argocdNamespace},
			"placementRef": map[string]any{"kind": "Placement", "apiVersion": "cluster.open-cluster-management.io/v1beta1", "name": "none"},
		}})},
	{aTenant, "labels a foreign cluster into its set", byRBAC, noPatch,
		clusterKind.patches("", "cluster2", `{"metadata":{"labels":{"tenant":"a"}}}`)},
	{aTenant, "gives a cluster an address", byRBAC, noPatch, addresses("cluster1")},
	{aTenant, "reads the Secrets of Argo CD", byRBAC, noList, readsSecrets(argocdNamespace)},
	{aTenant, "writes a cluster Secret with an identity of AWS", byRBAC, noCreate, secretKind.creates(argocdNamespace, "forged", awsSecret)},
	{aTenant, "has a cluster Secret take an identity of AWS", byRBAC, noPatch, secretKind.patches(argocdNamespace, clusterSecret, awsConfig)},
	{aTenant, "has a cluster Secret run a program", byRBAC, noPatch, secretKind.patches(argocdNamespace, clusterSecret, execConfig)},
	{aTenant, "sends a cluster Secret to another address", byRBAC, noPatch, secretKind.patches(argocdNamespace, clusterSecret, otherServer)},
	{aTenant, "pauses a cluster", byRBAC, noPatch,
		clusterKind.patches("", "cluster1", fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, apis.AnnotationPaused))},
	{aTenant, "pauses an Application of another tenant", byRBAC, noPatch, ofVictim(apis.AnnotationPaused, "true")},
	{aTenant, "pauses an ApplicationSet of another tenant", byRBAC, noPatch,
		setKind.patches(argocdNamespace, victim, fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, apis.AnnotationPaused))},
	{aTenant, "deletes the work of another tenant", byRBAC, noDelete, workKind.deletes("cluster1", "work")},
	{aTenant, "gives the work of another tenant an owner", byRBAC, noPatch, ofWork(`{"metadata":{"ownerReferences":` + anOwner + `}}`)},
	{aTenant, "reads the works of a cluster", byRBAC, noList, workKind.lists("cluster1")},
	{aTenant, "reads the reports of a cluster", byRBAC, noList, ownReport.lists("cluster2")},
	{aTenant, "records events in Argo CD's namespace", byRBAC, noCreate, eventKind.creates(argocdNamespace, "forged", anEvent)},
	{aTenant, "takes an admission policy away", byRBAC, noDelete, policyKind.deletes("", policyReports)},
}

// clusterSetLabel is the label of a ManagedCluster with the name of the ManagedClusterSet.
const clusterSetLabel = "cluster.open-cluster-management.io/clusterset"

// joins creates the ManagedCluster of a joining cluster, with a label or an annotation.
func joins(field, key, value string) sending {
	return clusterKind.creates("", "joining", map[string]any{"metadata": map[string]any{field: map[string]any{key: value}}})
}

// joinsAsItShould creates the same ManagedCluster as the registration agent of Open Cluster Management. The
// ManagedCluster also has the label added by the webhook of Open Cluster Management.
func joinsAsItShould(ctx context.Context, c client.Client) error {
	return clusterKind.creates("", "joining", map[string]any{
		"metadata": map[string]any{
			"labels":      map[string]any{clusterSetLabel: "default"},
			"annotations": map[string]any{"agent.open-cluster-management.io/managed-cluster-arn": "arn:aws:eks:x:1:cluster/joining"},
		},
		"spec": map[string]any{"managedClusterClientConfigs": address},
	})(ctx, c)
}

// ofVictim annotates the Application of the foreign tenant.
func ofVictim(key, value string) sending {
	return appKind.patches(argocdNamespace, victim, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
}

// addresses gives a cluster an address permitted by an AppProject.
func addresses(cluster string) sending {
	return namespaces.patches("", cluster, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, apis.AnnotationServer, allowedAddress))
}
