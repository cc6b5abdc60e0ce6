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

// MaxObjects is how many objects an Application may name.
const MaxObjects = 50

// ObjectKind is the kind of an object that an Application can name.
type ObjectKind string

// The kinds that an Application can name.
const (
	SecretKind    ObjectKind = "Secret"
	ConfigMapKind ObjectKind = "ConfigMap"
)

// Reference names an object in the Application's own namespace, and where it goes on the cluster.
type Reference struct {
	Kind ObjectKind
	Name string

	// Namespace and As are the namespace and the name that it is to have on the cluster; empty for the destination's namespace,
	// and for its own name.
	Namespace, As string
}

// Target is where the object goes, of an Application with that destination.
func (r Reference) Target(destination string) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(r.Namespace, destination), Name: cmp.Or(r.As, r.Name)}
}

// source is the reference without a target: the object on the hub.
func (r Reference) source() Reference { return Reference{Kind: r.Kind, Name: r.Name} }

// String is what the annotation says of the object on the hub.
func (r Reference) String() string { return strings.ToLower(string(r.Kind)) + "/" + r.Name }

// References reads the annotation apis.AnnotationWith: "secret/a,configmap/b=name,secret/c=namespace/name". Each object is named
// once for a target.
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
		return nil, fmt.Errorf("it names %d objects, but may name at most %d: combine them into fewer objects", len(out), MaxObjects)
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

// clash are two references that would lay one object over another; none where there is no such pair.
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

// Placed is an object of the hub, and where it goes on the cluster.
type Placed struct {
	Object Object
	To     types.NamespacedName
}

// RenderObjects is the work that carries what an Application names to its cluster. own is the key of the Application's own
// work. It returns a TooLargeError for what does not fit.
func RenderObjects(own types.NamespacedName, set []Placed) (*workv1.ManifestWork, error) {
	var secrets, configMaps []object
	for _, p := range set {
		manager := managerOf(p.Object.GetNamespace())
		if p.To.Name != p.Object.GetName() { // not the same as what has that name on the hub
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

// kept is the object that a work brings to a target, as if it were still on the hub where it came from; nil where the work brings
// none.
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

// brings reads a manifest, and tells whether it is the object of that kind at a target.
func brings(m workv1.Manifest, want ObjectKind, to types.NamespacedName, into metav1.Object) bool {
	kind := metav1.TypeMeta{}
	return json.Unmarshal(m.Raw, &kind) == nil && kind.Kind == string(want) && json.Unmarshal(m.Raw, into) == nil &&
		into.GetName() == to.Name && into.GetNamespace() == to.Namespace
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
