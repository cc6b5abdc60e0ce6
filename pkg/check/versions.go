package check

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// The oldest versions that Towline supports.
const (
	// oldestKubernetes is the first version with ValidatingAdmissionPolicies (admissionregistration.k8s.io/v1).
	oldestKubernetes = "1.30.0"

	// oldestArgoCD is the oldest version in the tests.
	oldestArgoCD = "2.14.0"
)

// kubernetes checks the API server's version.
func kubernetes(f *Facts) []Line {
	const name = "Kubernetes"
	v, err := version.ParseGeneric(f.Kubernetes)
	switch {
	case err != nil:
		return []Line{unknown(name, "the version of Kubernetes")}
	case v.Major() == 0:
		return []Line{lesser(name, "", "the API server reports no version: Towline needs %s or later", oldestKubernetes)}
	case v.LessThan(version.MustParseGeneric(oldestKubernetes)):
		return []Line{wrong(name, "helm upgrade with admissionPolicies.enabled=false: see docs/security.md, Admission policies",
			"%s does not serve ValidatingAdmissionPolicies, which begin with %s", f.Kubernetes, oldestKubernetes)}
	}
	return []Line{good(name, "%s", f.Kubernetes)}
}

// Ends of the values of the label app.kubernetes.io/name on Argo CD's controllers. The beginning is argocd, or with
// Argo CD's operator the name of the ArgoCD.
const (
	argoController    = "-application-controller"
	argoSetController = "-applicationset-controller"
)

// byName returns the workloads of Argo CD whose label app.kubernetes.io/name ends with end. Tenants can create objects
// with the same label in other namespaces.
func (f *Facts) byName(end string) []Workload {
	var out []Workload
	for _, w := range f.Workloads {
		if f.atArgoCD(w) && strings.HasSuffix(w.Labels["app.kubernetes.io/name"], end) {
			out = append(out, w)
		}
	}
	return out
}

// argoCD checks one of Argo CD's controllers.
func (f *Facts) argoCD(name, controller, without string) []Line {
	if f.Unread[Deployments] {
		return []Line{unknown(name, "Deployments and StatefulSets")}
	}
	found := f.byName(controller)
	if len(found) == 0 {
		return []Line{wrong(name, "install Argo CD, or name the namespace of Argo CD with --argocd-namespace or --cluster-argocd-namespace: "+
			"https://argo-cd.readthedocs.io/en/stable/operator-manual/installation/",
			"no Deployment or StatefulSet in namespace %s has the label app.kubernetes.io/name=argocd%s: %s", f.Namespace, controller, without)}
	}
	var out []Line
	for _, w := range found {
		where := fmt.Sprintf("%s/%s, version %s", w.Namespace, w.Name, tagOr(w.Image, "unknown"))
		show := fmt.Sprintf("kubectl -n %s get pods -l app.kubernetes.io/name=%s", w.Namespace, w.Labels["app.kubernetes.io/name"])
		v, err := version.ParseGeneric(tag(w.Image))
		switch {
		case w.Ready == 0:
			out = append(out, wrong(name, show, "%s is not ready: %s", where, without))
		case err == nil && v.LessThan(version.MustParseGeneric(oldestArgoCD)):
			out = append(out, lesser(name, "", "%s: nothing before %s was tried", where, oldestArgoCD))
		default:
			out = append(out, good(name, "%s", where))
		}
	}
	return out
}

// tag returns the tag of an image; empty for none.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	rest := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(rest, ":")
	return tag
}

func tagOr(image, other string) string {
	if t := tag(image); t != "" {
		return t
	}
	return other
}
