package fleet

import "slices"

// A programSet is a Go module under e2e/programs. The programs of the module share a dependency graph.
type programSet struct {
	name     string
	programs []program
	// links are further names of the first program. The program takes its role from its name.
	links []string
	// manifests are files of the set's modules that the fleet applies. They are copied to the programs, so a warm cache
	// works without a module cache.
	manifests []manifest
	// sources are the module's own source files, for programs that no other module has in the needed form.
	sources []string
}

type program struct {
	name, pkg string
}

// A manifest is a file pattern inside a Go module, and the folder of the cache for the matching files.
type manifest struct {
	module, pattern, folder string
}

const (
	apiModule  = "open-cluster-management.io/api"
	ocmModule  = "open-cluster-management.io/ocm"
	kwokModule = "sigs.k8s.io/kwok"

	argo3Module = "github.com/argoproj/argo-cd/v3"
	// scriptsFolder is the folder of an Argo CD's scripts. Its repo server looks for the scripts on PATH, and answers
	// "permission denied" without them.
	scriptsFolder = "scripts"
)

var (
	etcdSet = programSet{name: "etcd", programs: []program{{"etcd", "go.etcd.io/etcd/server/v3"}}}

	kubernetesSet = programSet{name: "kubernetes", programs: []program{
		{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
		{"kubectl", "k8s.io/kubernetes/cmd/kubectl"},
		{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"},
		{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"},
	}}

	ocmSet = programSet{
		name: "ocm",
		programs: []program{
			{"work", "open-cluster-management.io/ocm/cmd/work"},
			{"placement", "open-cluster-management.io/ocm/cmd/placement"},
			{"registration", "open-cluster-management.io/ocm/cmd/registration"},
			{"addon", "open-cluster-management.io/ocm/cmd/addon"},
		},
		manifests: []manifest{
			{apiModule, "work/v1/*.crd.yaml", "crds"},
			{apiModule, "cluster/v1*/*.crd.yaml", "crds"},
			{apiModule, "addon/v1alpha1/*.crd.yaml", "crds"},
			{ocmModule, "manifests/cluster-manager/hub/addon-manager/serviceaccount.yaml", "addon-manager"},
			{ocmModule, "manifests/cluster-manager/hub/addon-manager/clusterrole*.yaml", "addon-manager"},
			{ocmModule, "manifests/cluster-manager/hub/registration/clusterrole*.yaml", "registration-rights"},
			{ocmModule, "manifests/klusterlet/managed/klusterlet-*.yaml", "klusterlet"},
			{ocmModule, "manifests/klusterlet/management/klusterlet-*role*.yaml", "klusterlet-management"},
		},
	}

	kwokSet = programSet{
		name:     "kwok",
		programs: []program{{"kwok", "sigs.k8s.io/kwok/cmd/kwok"}},
		manifests: []manifest{
			{kwokModule, "kustomize/stage/node/fast/node-initialize.yaml", "stages"},
			{kwokModule, "kustomize/stage/pod/fast/pod-*.yaml", "stages"},
		},
	}

	kustomizeSet = programSet{name: "kustomize", programs: []program{{"kustomize", "sigs.k8s.io/kustomize/kustomize/v5"}}}
)

// argoSet returns the program set of an Argo CD from its published module.
func argoSet(name, module string, more ...manifest) programSet {
	return programSet{
		name:     name,
		programs: []program{{"argocd", module + "/cmd"}},
		links: []string{
			"argocd-application-controller", "argocd-applicationset-controller", "argocd-repo-server", "argocd-server", commitServer,
		},
		manifests: append([]manifest{
			{module, "manifests/crds/*-crd.yaml", "crds"},
			{module, "manifests/base/config/argocd-*.yaml", "config"},
			{module, "manifests/base/applicationset-controller/*-role*.yaml", "applicationset-controller"},
			{module, "manifests/base/applicationset-controller/*-sa.yaml", "applicationset-controller"},
			{module, "manifests/cluster-rbac/applicationset-controller/argocd-*.yaml", "applicationset-controller"},
			{module, "manifests/base/server/*-role*.yaml", "server"},
			{module, "manifests/base/server/*-sa.yaml", "server"},
			{module, "manifests/cluster-rbac/server/argocd-*.yaml", "server"},
			{module, "manifests/base/application-controller-roles/argocd-*.yaml", "application-controller"},
			{module, "manifests/cluster-rbac/application-controller/argocd-*.yaml", "application-controller"},
		}, more...),
	}
}

// An argoCD is a version of Argo CD that a fleet can run.
type argoCD struct {
	version string
	set     programSet
	// mutualTLS is true if components show a certificate to the repo server (3.5 and later).
	mutualTLS bool
}

// argoCDs are the permitted versions in Options.ArgoCD.
var argoCDs = []argoCD{
	{version: "3", set: argoSet("argocd3", argo3Module, manifest{argo3Module, "hack/*-wrapper.sh", scriptsFolder}), mutualTLS: true},
	{version: "2.14", set: argoSet("argocd", "github.com/argoproj/argo-cd/v2")},
}

// ArgoCDVersions returns the permitted versions in Options.ArgoCD.
func ArgoCDVersions() []string {
	var versions []string
	for _, a := range argoCDs {
		versions = append(versions, a.version)
	}
	return versions
}

// argoCDOf returns a version of Argo CD. The version must have passed Options.validate.
func argoCDOf(version string) argoCD {
	i := slices.IndexFunc(argoCDs, func(a argoCD) bool { return a.version == version })
	return argoCDs[i]
}

// allSets are the program sets of a fleet with all versions of Argo CD.
var allSets = setsFor(ArgoCDVersions())

// setsFor returns the program sets of a fleet with the given versions of Argo CD, in build order. The sets for `assets`
// come first.
func setsFor(versions []string) []programSet {
	sets := []programSet{etcdSet, kubernetesSet, ocmSet}
	for _, version := range slices.Compact(slices.Sorted(slices.Values(versions))) {
		sets = append(sets, argoCDOf(version).set)
	}
	return append(sets, kwokSet, kustomizeSet)
}

// controlPlaneSet is the part of Kubernetes for a control plane without controllers.
var controlPlaneSet = programSet{name: "kubernetes", programs: kubernetesSet.programs[:2]}
