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
	// GeneratorConfig is the ConfigMap that a clusterDecisionResource generator names as its configMapRef.
	GeneratorConfig = "ocm-placement-generator"

	// GeneratorConfigACM is the same under the name that the console of Advanced Cluster Management writes into ApplicationSets.
	GeneratorConfigACM = "acm-placement"

	// GeneratorRole is the Role, and its RoleBinding, by which the ApplicationSet controller may read decisions.
	GeneratorRole = "ocm-placement-consumer"
)

// GeneratorObjects are what the clusterDecisionResource generator needs in the namespace of its Argo CD. The right is
// for all ServiceAccounts there: what an installation calls that of its ApplicationSet controller cannot be known, and
// the names of the chosen clusters are no secret to an Argo CD that has their Secrets.
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

// prepare makes what the generator needs. What somebody else made under these names is left alone.
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

// unprepare removes what was made for the generator, unless another GitOpsCluster has the same Argo CD, or still has Secrets
// there. It is not enough that the annotation of this one names the namespace: its author can write that.
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

// generator is the object that an Argo CD has under the name of another of the same kind; nil for none.
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
