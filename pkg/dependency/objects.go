package dependency

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// MaxObjects is how many objects an Application may name.
const MaxObjects = 50

// ObjectKind is the kind of an object that an Application can name.
type ObjectKind string

// The kinds that an Application can name.
const (
	SecretKind    ObjectKind = "Secret"
	ConfigMapKind ObjectKind = "ConfigMap"
)

// Reference names an object in the Application's own namespace.
type Reference struct {
	Kind ObjectKind
	Name string
}

func (r Reference) String() string { return strings.ToLower(string(r.Kind)) + "/" + r.Name }

// References reads the annotation apis.AnnotationWith: "secret/a,configmap/b". Each object is named once.
func References(annotation string) ([]Reference, error) {
	var out []Reference
	for entry := range strings.SplitSeq(annotation, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		ref, err := reference(entry)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	if len(out) > MaxObjects {
		return nil, fmt.Errorf("it names %d objects and may name %d: put them into fewer", len(out), MaxObjects)
	}
	return out, nil
}

func reference(entry string) (Reference, error) {
	kind, name, _ := strings.Cut(entry, "/")
	ref := Reference{Name: name}
	switch strings.ToLower(kind) {
	case "secret":
		ref.Kind = SecretKind
	case "configmap":
		ref.Kind = ConfigMapKind
	default:
		return ref, fmt.Errorf("%.80q is neither secret/NAME nor configmap/NAME", entry)
	}
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		return ref, fmt.Errorf("%.80q: no %s can have that name", entry, ref.Kind)
	}
	return ref, nil
}

// ObjectSet are the objects that an Application names, as they are on the hub.
type ObjectSet struct {
	Secrets    []*corev1.Secret
	ConfigMaps []*corev1.ConfigMap
}

// RenderObjects is the work that carries what an Application names into a namespace of its cluster. own is the key of
// the Application's own work. It returns a TooLargeError for what does not fit.
func RenderObjects(own types.NamespacedName, namespace string, set ObjectSet) (*workv1.ManifestWork, error) {
	var objects []object
	for _, s := range set.Secrets {
		objects = append(objects, secretObject(s, namespace, s.Name, managerOf(s.Namespace)))
	}
	for _, c := range set.ConfigMaps {
		objects = append(objects, configMapObject(c, namespace, managerOf(c.Namespace)))
	}
	return render(ObjectsKey(own), Objects, objects...)
}

// Keep adds the object of that name that a work brings to a namespace of its cluster, as if it were still in the namespace
// of the hub that it came from. It adds nothing where the work brings none.
func (s *ObjectSet) Keep(w *workv1.ManifestWork, ref Reference, namespace, hubNamespace string) {
	for _, m := range w.Spec.Workload.Manifests {
		secret, config := &corev1.Secret{}, &corev1.ConfigMap{}
		switch {
		case ref.Kind == SecretKind && brings(m, ref, namespace, secret):
			secret.Namespace = hubNamespace
			s.Secrets = append(s.Secrets, secret)
		case ref.Kind == ConfigMapKind && brings(m, ref, namespace, config):
			config.Namespace = hubNamespace
			s.ConfigMaps = append(s.ConfigMaps, config)
		}
	}
}

// brings reads a manifest, and tells whether it is the object of that name in a namespace.
func brings(m workv1.Manifest, ref Reference, namespace string, into metav1.Object) bool {
	kind := metav1.TypeMeta{}
	return json.Unmarshal(m.Raw, &kind) == nil && kind.Kind == string(ref.Kind) && json.Unmarshal(m.Raw, into) == nil &&
		into.GetName() == ref.Name && into.GetNamespace() == namespace
}

// managerOf is under whose name objects of a hub namespace are applied. Applications of one namespace may name the same
// object, and share it on a cluster; one of another namespace cannot take it over.
func managerOf(hubNamespace string) string {
	sum := sha256.Sum256([]byte(hubNamespace))
	return fieldManager + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// AtHome tells whether a work brings objects into the namespace that they have on the hub: on the hub itself, to where
// they are.
func AtHome(w *workv1.ManifestWork) bool {
	return slices.ContainsFunc(w.Spec.ManifestConfigs, func(c workv1.ManifestConfigOption) bool {
		return c.UpdateStrategy != nil && c.UpdateStrategy.ServerSideApply != nil &&
			c.UpdateStrategy.ServerSideApply.FieldManager == managerOf(c.ResourceIdentifier.Namespace)
	})
}

func secretObject(s *corev1.Secret, namespace, name, manager string) object {
	return object{
		resource: workv1.ResourceIdentifier{Resource: "secrets", Namespace: namespace, Name: name},
		manager:  manager,
		manifest: struct {
			APIVersion string            `json:"apiVersion"`
			Kind       string            `json:"kind"`
			Metadata   payloadMeta       `json:"metadata"`
			Type       corev1.SecretType `json:"type,omitempty"`
			Immutable  *bool             `json:"immutable,omitempty"`
			Data       map[string][]byte `json:"data,omitempty"`
		}{"v1", string(SecretKind), metaFor(s, namespace, name), s.Type, s.Immutable, s.Data},
	}
}

func configMapObject(c *corev1.ConfigMap, namespace, manager string) object {
	return object{
		resource: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: namespace, Name: c.Name},
		manager:  manager,
		manifest: struct {
			APIVersion string            `json:"apiVersion"`
			Kind       string            `json:"kind"`
			Metadata   payloadMeta       `json:"metadata"`
			Immutable  *bool             `json:"immutable,omitempty"`
			Data       map[string]string `json:"data,omitempty"`
			BinaryData map[string][]byte `json:"binaryData,omitempty"`
		}{"v1", string(ConfigMapKind), metaFor(c, namespace, c.Name), c.Immutable, c.Data, c.BinaryData},
	}
}

// KindPermitted tells whether a project lets its Applications have objects of a kind, by Argo CD's rules (v2.14): a
// whitelist, where there is one, must have it, and the blacklist must not.
func KindPermitted(p *argocd.AppProject, kind ObjectKind) bool {
	var spec struct {
		Whitelist *[]groupKind `json:"namespaceResourceWhitelist"`
		Blacklist []groupKind  `json:"namespaceResourceBlacklist"`
	}
	if len(p.Spec.Raw) > 0 && json.Unmarshal(p.Spec.Raw, &spec) != nil {
		return false
	}
	lists := func(entry groupKind) bool {
		byKind, err := path.Match(entry.Kind, string(kind))
		byGroup, err2 := path.Match(entry.Group, "")
		return byKind && byGroup && err == nil && err2 == nil
	}
	return (spec.Whitelist == nil || slices.ContainsFunc(*spec.Whitelist, lists)) && !slices.ContainsFunc(spec.Blacklist, lists)
}

type groupKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}
