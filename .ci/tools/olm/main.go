// Olm writes deploy/bundle and deploy/bundle-source. The Operator Lifecycle Manager installs Towline and towline-source on
// OpenShift from the bundles:
//
//	kustomize build deploy/bundle/source | go run . deploy/bundle v0.1.0 registry.example/towline@sha256:…
//
// Olm reads the output of kustomize. The Deployment and the rights of the ServiceAccount become a part of the
// ClusterServiceVersion. Objects of the kinds allowed in a bundle, and ClusterRoles for users, become files. Objects of
// all further kinds are refused.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: olm FOLDER VERSION IMAGE < manifests")
		os.Exit(1)
	}
	if err := run(os.Stdin, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "olm:", err)
		os.Exit(1)
	}
}

// run reads manifests and writes the files of a bundle into the subfolder "manifests" of a folder.
func run(from io.Reader, folder, version, image string) error {
	base, err := os.ReadFile(filepath.Join(folder, "source", "clusterserviceversion.yaml"))
	if err != nil {
		return err
	}
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	if err := yaml.UnmarshalStrict(base, csv); err != nil {
		return fmt.Errorf("source/clusterserviceversion.yaml: %w", err)
	}
	objects, err := read(from)
	if err != nil {
		return err
	}
	beside, err := objects.into(csv)
	if err != nil {
		return err
	}
	program := csv.Name
	if err := name(csv, program, version, image); err != nil {
		return err
	}
	files := map[string]any{program + ".clusterserviceversion.yaml": csv}
	for _, u := range beside {
		files[fmt.Sprintf("%s_%s.yaml", u.GetName(), strings.ToLower(u.GetKind()))] = u.Object
	}
	return write(filepath.Join(folder, "manifests"), files)
}

// name sets the version and the image in all fields of the ClusterServiceVersion with a version or an image.
func name(csv *operatorsv1alpha1.ClusterServiceVersion, program, version, image string) error {
	csv.Name = program + "." + version
	if err := csv.Spec.Version.UnmarshalJSON([]byte(fmt.Sprintf("%q", strings.TrimPrefix(version, "v")))); err != nil {
		return fmt.Errorf("version %s: %w", version, err)
	}
	for i := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		d := &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[i]
		for j := range d.Spec.Template.Spec.Containers {
			d.Spec.Template.Spec.Containers[j].Image = image
		}
	}
	csv.Spec.RelatedImages = []operatorsv1alpha1.RelatedImage{{Name: program, Image: image}}
	csv.Annotations["containerImage"] = image
	return nil
}

// objects are the manifests, sorted by their use in the bundle.
type objects struct {
	deployments  []appsv1.Deployment
	roles        map[string][]rbacv1.PolicyRule // by kind and name
	bindings     []rbacv1.RoleBinding           // RoleBindings and ClusterRoleBindings; the field Kind tells the two apart
	clusterRoles []*unstructured.Unstructured
	rest         []*unstructured.Unstructured
}

// kinds are Towline's kinds of objects with a file in the bundle. The Operator Lifecycle Manager accepts these kinds.
var kinds = map[string]bool{"Service": true, "PodDisruptionBudget": true, "CustomResourceDefinition": true}

func read(from io.Reader) (*objects, error) {
	o := &objects{roles: map[string][]rbacv1.PolicyRule{}}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(from, 4096); ; {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(u); errors.Is(err, io.EOF) {
			return o, nil
		} else if err != nil {
			return nil, err
		}
		if err := o.take(u); err != nil {
			return nil, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
}

// take adds an object to the list for the object's kind. A kind not allowed in a bundle is an error.
func (o *objects) take(u *unstructured.Unstructured) error {
	to := func(typed any) error { return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed) }
	switch kind := u.GetKind(); kind {
	case "Deployment":
		d := appsv1.Deployment{}
		err := to(&d)
		o.deployments = append(o.deployments, d)
		return err
	case "Role", "ClusterRole":
		r := rbacv1.ClusterRole{}
		err := to(&r)
		o.roles[kind+"/"+u.GetName()] = r.Rules
		if kind == "ClusterRole" {
			o.clusterRoles = append(o.clusterRoles, u)
		}
		return err
	case "RoleBinding", "ClusterRoleBinding":
		b := rbacv1.RoleBinding{}
		err := to(&b)
		o.bindings = append(o.bindings, b)
		return err
	case "ServiceAccount": // The Operator Lifecycle Manager creates the accounts named in the ClusterServiceVersion.
		return nil
	default:
		if !kinds[kind] {
			return errors.New("a bundle may not hold this kind")
		}
		// An object in a bundle has no namespace, because the object goes to the operator's namespace.
		u.SetNamespace("")
		o.rest = append(o.rest, u)
		return nil
	}
}

// into fills a ClusterServiceVersion. into returns the objects for separate files. Among these objects are the
// ClusterRoles without a binding, because such ClusterRoles are for users. A binding to a missing role is an error.
func (o *objects) into(csv *operatorsv1alpha1.ClusterServiceVersion) ([]*unstructured.Unstructured, error) {
	spec := &csv.Spec.InstallStrategy.StrategySpec
	for i := range o.deployments {
		d := &o.deployments[i]
		spec.DeploymentSpecs = append(spec.DeploymentSpecs, operatorsv1alpha1.StrategyDeploymentSpec{Name: d.Name, Label: d.Labels, Spec: d.Spec})
	}
	bound := map[string]bool{}
	for i := range o.bindings {
		b := &o.bindings[i]
		key := b.RoleRef.Kind + "/" + b.RoleRef.Name
		rules, there := o.roles[key]
		if !there {
			return nil, fmt.Errorf("%s %s: there is no %s", b.Kind, b.Name, key)
		}
		bound[key] = true
		grant := operatorsv1alpha1.StrategyDeploymentPermissions{ServiceAccountName: b.Subjects[0].Name, Rules: rules}
		if b.Kind == "ClusterRoleBinding" {
			spec.ClusterPermissions = append(spec.ClusterPermissions, grant)
		} else {
			spec.Permissions = append(spec.Permissions, grant)
		}
	}
	beside := o.rest
	for _, u := range o.clusterRoles {
		if !bound["ClusterRole/"+u.GetName()] {
			beside = append(beside, u)
		}
	}
	for _, u := range o.rest {
		if u.GetKind() == "CustomResourceDefinition" {
			if err := own(csv, u); err != nil {
				return nil, err
			}
		}
	}
	return beside, nil
}

// own lists a CRD in the ClusterServiceVersion as owned by the operator.
func own(csv *operatorsv1alpha1.ClusterServiceVersion, u *unstructured.Unstructured) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd); err != nil {
		return err
	}
	for _, v := range crd.Spec.Versions {
		csv.Spec.CustomResourceDefinitions.Owned = append(csv.Spec.CustomResourceDefinitions.Owned, operatorsv1alpha1.CRDDescription{
			Name: crd.Name, Version: v.Name, Kind: crd.Spec.Names.Kind, DisplayName: crd.Spec.Names.Kind,
			Description: v.Schema.OpenAPIV3Schema.Description,
		})
	}
	return nil
}

// write replaces the content of a folder with the given files, as YAML.
func write(folder string, files map[string]any) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, object := range files {
		data, err := plain(object)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// plain returns an object as YAML, without the status and the creation time, because only an API server sets them.
func plain(object any) ([]byte, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var m map[string]any
	if err := decoder.Decode(&m); err != nil {
		return nil, err
	}
	delete(m, "status")
	if meta, ok := m["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return yaml.Marshal(m)
}
