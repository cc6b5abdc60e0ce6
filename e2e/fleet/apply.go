package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const fieldOwner = client.FieldOwner("towline-fleet")

// decode reads the objects of a YAML stream.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// decodeFiles reads the objects of files. With values, the files are rendered as templates, the form of OCM's
// manifests.
func decodeFiles(files []string, values any) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if values != nil {
			if data, err = render(data, values); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		more, err := decode(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

func render(text []byte, values any) ([]byte, error) {
	tmpl, err := template.New("").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = tmpl.Execute(&out, values)
	return out.Bytes(), err
}

// applyObjects applies objects in their order. namespace is for namespaced objects without a namespace.
func applyObjects(ctx context.Context, c client.Client, namespace string, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := setNamespace(c, object, namespace); err != nil {
			return err
		}
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func setNamespace(c client.Client, object *unstructured.Unstructured, namespace string) error {
	namespaced, err := c.IsObjectNamespaced(object)
	if err != nil {
		return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if namespaced && object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	return nil
}

// installCRDs creates CRDs and waits until the API server serves them.
func installCRDs(ctx context.Context, c client.Client, files []string) error {
	objects, err := decodeFiles(files, nil)
	if err != nil {
		return err
	}
	for _, object := range objects {
		// The CRDs are created and not applied, because for large CRDs the tracking of fields costs seconds.
		if err := c.Create(ctx, object.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating CRD %s: %w", object.GetName(), err)
		}
	}
	for _, object := range objects {
		if err := poll(ctx, 50*time.Millisecond, served(c, object)); err != nil {
			return err
		}
	}
	return nil
}

// served is ready when the API server lists the objects of a CRD. An answer with the CRD itself would cost the API server more:
// the CRD of ApplicationSets has more than 1 MB.
func served(c client.Client, crd *unstructured.Unstructured) probe {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	return func(ctx context.Context) error {
		for _, v := range versions {
			version, ok := v.(map[string]any)
			if !ok || version["served"] != true {
				continue
			}
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: fmt.Sprint(version["name"]), Kind: kind + "List"})
			if err := c.List(ctx, list, client.Limit(1)); err != nil {
				return fmt.Errorf("CRD %s is not served: %w", crd.GetName(), err)
			}
		}
		return nil
	}
}

func established(c client.Client, name string) probe {
	return conditionTrue(c, schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	}, client.ObjectKey{Name: name}, "Established")
}

// conditionTrue is ready when a condition of an object has status True.
func conditionTrue(c client.Client, kind schema.GroupVersionKind, key client.ObjectKey, condition string) probe {
	return func(ctx context.Context) error {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		if err := c.Get(ctx, key, object); err != nil {
			return err
		}
		status, reason := readCondition(object, condition)
		if status != "True" {
			return fmt.Errorf("%s %s: condition %s is %q %s", kind.Kind, key.Name, condition, status, reason)
		}
		return nil
	}
}

func readCondition(object *unstructured.Unstructured, kind string) (status, reason string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == kind {
			status, _ = condition["status"].(string)
			reason, _ = condition["reason"].(string)
		}
	}
	return status, reason
}

// exists is ready when an object exists.
func exists(c client.Client, kind schema.GroupVersionKind, key client.ObjectKey) probe {
	return func(ctx context.Context) error {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		return c.Get(ctx, key, object)
	}
}
