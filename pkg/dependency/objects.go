package dependency

import (
	"cmp"
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

// MaxObjects is the maximum number of objects in the annotation of an Application.
const MaxObjects = 50

// ObjectKind is the kind of an object in the annotation of an Application.
type ObjectKind string

// The supported kinds of objects.
const (
	SecretKind    ObjectKind = "Secret"
	ConfigMapKind ObjectKind = "ConfigMap"
)

// Reference names an object in the Application's own namespace, and its target on the cluster.
type Reference struct {
	Kind ObjectKind
	Name string

	// Namespace and As are the namespace and the name of the object on the cluster. Empty means the namespace of the
	// destination, and the object's own name.
	Namespace, As string
}

// Target returns the namespace and name of the object on the cluster, for the namespace of the Application's
// destination.
func (r Reference) Target(destination string) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(r.Namespace, destination), Name: cmp.Or(r.As, r.Name)}
}

// source returns the reference to the object on the hub, without a target.
func (r Reference) source() Reference { return Reference{Kind: r.Kind, Name: r.Name} }

// String returns the text of the annotation for the object on the hub.
func (r Reference) String() string { return strings.ToLower(string(r.Kind)) + "/" + r.Name }

// References parses the annotation apis.AnnotationWith: "secret/a,configmap/b=name,secret/c=namespace/name". The
// result has each pair of object and target only once. It returns an error for an invalid entry, or for more than
// MaxObjects objects.
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
		return nil, fmt.Errorf("the annotation names %d objects, but may name at most %d: combine the objects", len(out), MaxObjects)
	}
	return out, nil
}

func reference(entry string) (Reference, error) {
	from, to, aims := strings.Cut(entry, "=")
	kind, name, _ := strings.Cut(from, "/")
	ref := Reference{Name: name}
	switch strings.ToLower(kind) {
	case "secret":
		ref.Kind = SecretKind
	case "configmap":
		ref.Kind = ConfigMapKind
	default:
		return ref, fmt.Errorf("%.80q is neither secret/NAME nor configmap/NAME", entry)
	}
	if aims {
		ref.As = to
		if namespace, name, within := strings.Cut(to, "/"); within {
			ref.Namespace, ref.As = namespace, name
			if errs := validation.IsDNS1123Label(namespace); len(errs) > 0 {
				return ref, fmt.Errorf("%.80q: the namespace is not a valid name", entry)
			}
		}
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 || aims && len(validation.IsDNS1123Subdomain(ref.As)) > 0 {
		return ref, fmt.Errorf("%.80q is not a valid name of a %s", entry, ref.Kind)
	}
	return ref, nil
}

// clash returns two references of different objects with the same target; nil if all targets differ.
func clash(refs []Reference, destination string) []Reference {
	type target struct {
		kind ObjectKind
		at   types.NamespacedName
	}
	taken := map[target]Reference{}
	for _, ref := range refs {
		at := target{ref.Kind, ref.Target(destination)}
		if other, ok := taken[at]; ok && other.Name != ref.Name {
			return []Reference{other, ref}
		}
		taken[at] = ref
	}
	return nil
}

// Placed is an object of the hub with its namespace and name on the cluster.
type Placed struct {
	Object Object
	To     types.NamespacedName
}

// RenderObjects returns the work of the objects in an Application's annotation. own is the key of the Application's
// own work. If the objects do not fit into one work, RenderObjects returns a TooLargeError.
func RenderObjects(own types.NamespacedName, set []Placed) (*workv1.ManifestWork, error) {
	var secrets, configMaps []object
	for _, p := range set {
		manager := managerOf(p.Object.GetNamespace())
		if p.To.Name != p.Object.GetName() { // a renamed object must not share the field manager of the hub object with its new name
			manager = managerOf(p.Object.GetNamespace() + "/" + p.Object.GetName())
		}
		switch o := p.Object.(type) {
		case *corev1.Secret:
			secrets = append(secrets, secretObject(o, p.To.Namespace, p.To.Name, manager))
		case *corev1.ConfigMap:
			configMaps = append(configMaps, configMapObject(o, p.To.Namespace, p.To.Name, manager))
		}
	}
	return render(ObjectsKey(own), Objects, append(secrets, configMaps...)...)
}

// kept returns the object of a work for a target, under the namespace and name on the hub; nil if the work lacks the
// object.
func kept(w *workv1.ManifestWork, ref Reference, to types.NamespacedName, hubNamespace string) Object {
	for _, m := range w.Spec.Workload.Manifests {
		var obj Object = &corev1.Secret{}
		if ref.Kind == ConfigMapKind {
			obj = &corev1.ConfigMap{}
		}
		if brings(m, ref.Kind, to, obj) {
			obj.SetNamespace(hubNamespace)
			obj.SetName(ref.Name)
			return obj
		}
	}
	return nil
}

// brings parses a manifest, and reports whether the manifest has the wanted kind and target.
func brings(m workv1.Manifest, want ObjectKind, to types.NamespacedName, into metav1.Object) bool {
	kind := metav1.TypeMeta{}
	return json.Unmarshal(m.Raw, &kind) == nil && kind.Kind == string(want) && json.Unmarshal(m.Raw, into) == nil &&
		into.GetName() == to.Name && into.GetNamespace() == to.Namespace
}

// managerOf returns the field manager for objects of a hub namespace. Applications of one namespace may name the same
// object, and share the object on a cluster. Applications of other namespaces cannot take the object over.
func managerOf(hubNamespace string) string {
	sum := sha256.Sum256([]byte(hubNamespace))
	return fieldManager + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// atHome reports whether a work brings objects into their own hub namespace. On the hub itself, the work overwrites
// the originals.
func atHome(w *workv1.ManifestWork) bool {
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

func configMapObject(c *corev1.ConfigMap, namespace, name, manager string) object {
	return object{
		resource: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: namespace, Name: name},
		manager:  manager,
		manifest: struct {
			APIVersion string            `json:"apiVersion"`
			Kind       string            `json:"kind"`
			Metadata   payloadMeta       `json:"metadata"`
			Immutable  *bool             `json:"immutable,omitempty"`
			Data       map[string]string `json:"data,omitempty"`
			BinaryData map[string][]byte `json:"binaryData,omitempty"`
		}{"v1", string(ConfigMapKind), metaFor(c, namespace, name), c.Immutable, c.Data, c.BinaryData},
	}
}

// KindPermitted reports whether a project permits objects of a kind, by the rules of Argo CD (v2.14). The whitelist,
// if set, must have the kind, and the blacklist must not have it.
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
