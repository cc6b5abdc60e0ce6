package clusterimport

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
)

const (
	// GeneratorConfig is the ConfigMap in the configMapRef of a clusterDecisionResource generator.
	GeneratorConfig = "ocm-placement-generator"

	// GeneratorConfigACM is the same ConfigMap, under the name that the console of Advanced Cluster Management writes
	// into ApplicationSets.
	GeneratorConfigACM = "acm-placement"

	// GeneratorRole is the name of the Role and the RoleBinding. They let the ApplicationSet controller read
	// decisions.
	GeneratorRole = "ocm-placement-consumer"
)

// GeneratorObjects returns the objects for the clusterDecisionResource generator in the namespace of an Argo CD. All
// ServiceAccounts of the namespace get the right, because the name of the ApplicationSet controller's ServiceAccount
// is unknown. The names of the chosen clusters are no secret: the Argo CD has the cluster Secrets.
func GeneratorObjects(namespace string) []Object {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{apis.LabelGenerator: "true"}}
	}
	config := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{
			"apiVersion": clusterv1beta1.GroupVersion.String(), "kind": "placementdecisions",
			"statusListKey": "decisions", "matchKey": "clusterName",
		}}
	}
	return []Object{
		config(GeneratorConfig),
		&rbacv1.Role{ObjectMeta: named(GeneratorRole), Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1beta1.GroupVersion.Group}, Resources: []string{"placementdecisions"}, Verbs: []string{"list"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: named(GeneratorRole),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: GeneratorRole},
			Subjects: []rbacv1.Subject{{
				APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + namespace,
			}},
		},
		config(GeneratorConfigACM),
	}
}

// prepare creates or updates the objects for the generator. Foreign objects with the same names stay unchanged.
func (d *decision) prepare(namespace string) (steps []Step) {
	for _, desired := range GeneratorObjects(namespace) {
		existing := d.Argos[namespace].generator(desired)
		switch {
		case existing == nil:
			steps = append(steps, Step{Verb: Create, Object: desired})
		case isGenerator(existing) && !sameContent(existing, desired):
			desired.SetResourceVersion(existing.GetResourceVersion())
			steps = append(steps, Step{Verb: Update, Was: existing, Object: desired})
		}
	}
	return steps
}

// unprepare removes the objects for the generator. The objects stay if a second GitOpsCluster uses the Argo CD or
// still has Secrets in the namespace. An annotation of the GitOpsCluster is no proof: the author can write any
// namespace.
func (d *decision) unprepare(namespace string) (steps []Step) {
	argo := d.Argos[namespace]
	another := func(owner types.NamespacedName) bool { return owner != d.Key() }
	if argo.Shared || slices.ContainsFunc(argo.ours, func(s *corev1.Secret) bool {
		return slices.ContainsFunc(clustersecret.Owners(s), another)
	}) {
		return nil
	}
	for _, existing := range argo.Generator {
		if isGenerator(existing) {
			steps = append(steps, Step{Verb: Delete, Was: existing, Removal: true})
		}
	}
	return steps
}

// generator returns the Argo CD's object with the kind and name of the desired object; nil for none.
func (a *Argo) generator(desired Object) Object {
	i := slices.IndexFunc(a.Generator, func(o Object) bool { return kindOf(o) == kindOf(desired) && o.GetName() == desired.GetName() })
	if i < 0 {
		return nil
	}
	return a.Generator[i]
}

func kindOf(o Object) string { return fmt.Sprintf("%T", o) }

func isGenerator(o Object) bool { return o.GetLabels()[apis.LabelGenerator] == "true" }

func sameContent(a, b Object) bool {
	switch a := a.(type) {
	case *corev1.ConfigMap:
		return maps.Equal(a.Data, b.(*corev1.ConfigMap).Data)
	case *rbacv1.Role:
		return equality.Semantic.DeepEqual(a.Rules, b.(*rbacv1.Role).Rules)
	case *rbacv1.RoleBinding:
		return equality.Semantic.DeepEqual(a.Subjects, b.(*rbacv1.RoleBinding).Subjects)
	}
	return true
}
