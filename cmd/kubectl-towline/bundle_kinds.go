package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/bundle"
	"github.com/towline-io/towline/pkg/check"
	"github.com/towline-io/towline/pkg/reading"
)

// bundledKind is a kind of objects in a bundle. Secrets and ConfigMaps are never in a bundle.
type bundledKind struct {
	group, version, kind string

	// label is "<key>" or "<key>=<value>" of the wanted objects; empty for all objects.
	label string

	// name is the name of the file, if different from the kind.
	name string
}

func (k bundledKind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.kind + "List"}
}

// file returns the file name for objects of the kind.
func (k bundledKind) file() string {
	name := cmp.Or(k.name, strings.ToLower(k.kind))
	if k.label == apis.LabelDependency {
		name += "-dependencies"
	}
	return name + ".yaml"
}

// clean returns an object of the kind without secrets. Of a dependency work, only kinds and names of the manifests
// stay, in each file.
func (k bundledKind) clean(o *unstructured.Unstructured) map[string]any {
	if _, ok := o.GetLabels()[apis.LabelDependency]; ok && k.kind == "ManifestWork" {
		return bundle.Dependency(o.Object)
	}
	return bundle.Object(o.Object)
}

// ofTowline is the label of all objects from deploy/.
const ofTowline = "app.kubernetes.io/part-of=towline"

// bundled are all kinds in a bundle.
var bundled = []bundledKind{
	{"argoproj.io", "v1alpha1", "Application", "", ""},
	{"argoproj.io", "v1alpha1", "ApplicationSet", "", ""},
	{"argoproj.io", "v1alpha1", "AppProject", "", ""},
	{"work.open-cluster-management.io", "v1", "ManifestWork", apis.LabelPull, ""},
	{"work.open-cluster-management.io", "v1", "ManifestWork", apis.LabelDependency, ""},
	{apis.Group, "v1alpha1", "MulticlusterApplicationSetReport", "", ""},
	{apis.Group, "v1alpha1", "ApplicationReport", "", ""},
	{apis.Group, "v1beta1", "GitOpsCluster", "", ""},
	{"cluster.open-cluster-management.io", "v1", "ManagedCluster", "", ""},
	{"cluster.open-cluster-management.io", "v1beta1", "Placement", "", ""},
	{"cluster.open-cluster-management.io", "v1beta1", "PlacementDecision", "", ""},
	{"cluster.open-cluster-management.io", "v1beta2", "ManagedClusterSet", "", ""},
	{"cluster.open-cluster-management.io", "v1beta2", "ManagedClusterSetBinding", "", ""},
	{"addon.open-cluster-management.io", "v1alpha1", "ManagedClusterAddOn", "", ""},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole", ofTowline, ""},
	{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", ofTowline, ""},
	{"rbac.authorization.k8s.io", "v1", "Role", ofTowline, ""},
	{"rbac.authorization.k8s.io", "v1", "RoleBinding", ofTowline, ""},
	{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", ofTowline, ""},
	{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", ofTowline, ""},
}

// running are the kinds of workloads in the namespaces of Towline. In other namespaces, tenants can create objects
// with the same labels.
var running = []bundledKind{
	{"apps", "v1", "Deployment", "app.kubernetes.io/name=towline", "deployment"},
	{"", "v1", "Pod", "app.kubernetes.io/name=towline", "pod"},
}

// ofTowlines adds the workloads, logs and metrics of the hub's Towline.
func (c *collector) ofTowlines(ctx context.Context) error {
	if len(c.homes) == 0 {
		c.archive.Note("Deployments, Pods, logs and metrics of Towline: the ServiceAccount of Towline is unknown, because the " +
			"ClusterRoleBinding towline-controller does not exist or may not be read")
	}
	for _, ns := range slices.Sorted(maps.Keys(c.homes)) {
		for _, k := range running {
			k.name += "-" + ns
			if err := c.objects(ctx, k, client.InNamespace(ns)); err != nil {
				return err
			}
		}
		c.pods(ctx, ns)
	}
	return nil
}

// events adds all events of Towline, and all events in the namespaces of Towline. Events of other tenants are left
// out.
func (c *collector) events(ctx context.Context) error {
	if err := c.objects(ctx, bundledKind{"", "v1", "Event", "", "event"}, reporter); err != nil {
		return err
	}
	done := map[string]bool{}
	for _, w := range c.facts.Workloads {
		if !w.OfTowline() || done[w.Namespace] {
			continue
		}
		done[w.Namespace] = true
		if err := c.objects(ctx, bundledKind{"", "v1", "Event", "", "event-" + w.Namespace}, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
	}
	return nil
}

// unrelated reports whether a workload belongs neither to a pull controller nor to Argo CD.
func unrelated(w check.Workload) bool { return !w.OfTowline() && !w.OfArgoCD() && !w.OfPull() }

// pods adds logs and metrics of Towline's Pods in a namespace.
func (c *collector) pods(ctx context.Context, namespace string) {
	list := &corev1.PodList{}
	if err := c.List(ctx, list, reading.TowlineLabels, client.InNamespace(namespace), client.Limit(maxPods)); err != nil {
		c.archive.Note("logs: %v", err)
		return
	}
	if list.Continue != "" {
		c.archive.Note("logs and metrics: only those of the first %d Pods in namespace %s are there", maxPods, namespace)
	}
	for i := range list.Items {
		p := &list.Items[i]
		path := "/api/v1/namespaces/" + p.Namespace + "/pods/"
		name := p.Namespace + "-" + p.Name
		for _, container := range p.Spec.Containers {
			c.text(ctx, "logs/"+name+"-"+container.Name+".log", path+p.Name+"/log", map[string]string{
				"container": container.Name, "tailLines": strconv.FormatInt(c.logLines, 10),
				"limitBytes": strconv.Itoa(maxText),
			})
		}
		c.text(ctx, "metrics/"+name+".txt", path+"https:"+p.Name+":8443/proxy/metrics", nil)
	}
}

const (
	// maxPods is the maximum number of Pods in a namespace for logs and metrics.
	maxPods = 20

	// maxText is the maximum size of a log, or of a Pod's metrics, in bytes.
	maxText = 16 << 20
)

// text adds the API server's response for a path, up to maxText bytes.
func (c *collector) text(ctx context.Context, file, path string, params map[string]string) {
	request := c.discovery.RESTClient().Get().AbsPath(path)
	for key, value := range params {
		request.Param(key, value)
	}
	data, err := firstBytes(request.Stream(ctx))
	if err != nil {
		c.archive.Note("%s: %v", file, err)
		return
	}
	if len(data) > maxText {
		data = data[:maxText]
		c.archive.Note("%s: only the first %d bytes are there", file, maxText)
	}
	c.archive.Add(file, []byte(bundle.Text(string(data))))
}

// firstBytes reads a stream up to maxText bytes plus one.
func firstBytes(stream io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(stream, maxText+1))
	return data, errors.Join(err, stream.Close())
}
