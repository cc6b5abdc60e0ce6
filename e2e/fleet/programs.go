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
	// sources are patterns of the module's own source files, for programs that no other module has in the needed form.
	sources []string
	// versions are the variables that the linker sets to the version of a module.
	versions []version
}

type program struct {
	name, pkg string
}

// A manifest is a file pattern inside a Go module, and the folder of the cache for the matching files.
type manifest struct {
	module, pattern, folder string
}

// A version is a variable that a program reports as its version, the module with the version, and the prefix of the
// number in the variable. The module's own build sets the variable.
type version struct {
	variable, module, prefix string
}

const (
	apiModule        = "open-cluster-management.io/api"
	argo2Module      = "github.com/argoproj/argo-cd/v2"
	argo3Module      = "github.com/argoproj/argo-cd/v3"
	kubernetesModule = "k8s.io/kubernetes"
	kwokModule       = "sigs.k8s.io/kwok"
	ocmModule        = "open-cluster-management.io/ocm"

	// Folders of the manifests in a set.
	argoManifests = "manifests/argocd"
	kwokStages    = "manifests/kwok"
	ocmManifests  = "manifests/ocm"

	// scriptsFolder is the folder of an Argo CD's scripts. Its repo server looks for the scripts on PATH, and answers
	// "permission denied" without them.
	scriptsFolder = "scripts"
)

// fleetSet is a single program with all parts of a fleet with the newest Argo CD. The parts share their libraries.
var fleetSet = programSet{
	name:     "fleet",
	programs: []program{{"fleet", "github.com/towline-io/towline/e2e/programs/fleet"}},
	links: append([]string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "work", "placement", "registration", "addon",
		"kwok", "kustomize", "argocd",
	}, argoServers...),
	manifests: append([]manifest{
		{apiModule, "work/v1/*.crd.yaml", ocmManifests + "/crds"},
		{apiModule, "cluster/v1*/*.crd.yaml", ocmManifests + "/crds"},
		{apiModule, "addon/v1alpha1/*.crd.yaml", ocmManifests + "/crds"},
		{ocmModule, "manifests/cluster-manager/hub/addon-manager/serviceaccount.yaml", ocmManifests + "/addon-manager"},
		{ocmModule, "manifests/cluster-manager/hub/addon-manager/clusterrole*.yaml", ocmManifests + "/addon-manager"},
		{ocmModule, "manifests/cluster-manager/hub/registration/clusterrole*.yaml", ocmManifests + "/registration-rights"},
		{ocmModule, "manifests/klusterlet/managed/klusterlet-*.yaml", ocmManifests + "/klusterlet"},
		{ocmModule, "manifests/klusterlet/management/klusterlet-*role*.yaml", ocmManifests + "/klusterlet-management"},
		{kwokModule, "kustomize/stage/node/fast/node-initialize.yaml", kwokStages},
		{kwokModule, "kustomize/stage/pod/fast/pod-*.yaml", kwokStages},
	}, manifestsOfArgo3...),
	sources:  []string{"*.go"},
	versions: append(slices.Clone(kubernetesVersions), ocmVersion, argo3Version),
}

// kubernetesVersions, ocmVersion and argo3Version are the versions that the programs of Kubernetes, OCM and Argo CD 3 report.
var (
	kubernetesVersions = []version{
		{"k8s.io/component-base/version.gitVersion", kubernetesModule, "v"},
		{"k8s.io/client-go/pkg/version.gitVersion", kubernetesModule, "v"},
	}
	ocmVersion   = version{ocmModule + "/pkg/version.versionFromGit", ocmModule, "v"}
	argo3Version = version{argo3Module + "/common.version", argo3Module, ""}
)

// argoServers are the names of Argo CD's programs besides argocd.
var argoServers = []string{
	"argocd-application-controller", "argocd-applicationset-controller", "argocd-repo-server", "argocd-server", commitServer,
}

// manifestsOfArgo3 are the manifests and the scripts of an Argo CD 3.
var manifestsOfArgo3 = append([]manifest{{argo3Module, "hack/*-wrapper.sh", scriptsFolder}}, manifestsOfArgo(argo3Module)...)

// manifestsOfArgo returns the manifests of an Argo CD from its published module.
func manifestsOfArgo(module string) []manifest {
	return []manifest{
		{module, "manifests/crds/*-crd.yaml", argoManifests + "/crds"},
		{module, "manifests/base/config/argocd-*.yaml", argoManifests + "/config"},
		{module, "manifests/base/applicationset-controller/*-role*.yaml", argoManifests + "/applicationset-controller"},
		{module, "manifests/base/applicationset-controller/*-sa.yaml", argoManifests + "/applicationset-controller"},
		{module, "manifests/cluster-rbac/applicationset-controller/argocd-*.yaml", argoManifests + "/applicationset-controller"},
		{module, "manifests/base/server/*-role*.yaml", argoManifests + "/server"},
		{module, "manifests/base/server/*-sa.yaml", argoManifests + "/server"},
		{module, "manifests/cluster-rbac/server/argocd-*.yaml", argoManifests + "/server"},
		{module, "manifests/base/application-controller-roles/argocd-*.yaml", argoManifests + "/application-controller"},
		{module, "manifests/cluster-rbac/application-controller/argocd-*.yaml", argoManifests + "/application-controller"},
	}
}

// argo2Set has the older Argo CD, whose libraries are too old for the program of fleetSet.
var argo2Set = programSet{
	name:      "argocd",
	programs:  []program{{"argocd", argo2Module + "/cmd"}},
	links:     argoServers,
	manifests: manifestsOfArgo(argo2Module),
	versions:  []version{{argo2Module + "/common.version", argo2Module, ""}},
}

// newest returns a set with programs of e2e/programs/newest. All sets of this module share a folder.
func newest(links []string, programs ...program) programSet {
	return programSet{
		name: "newest", programs: programs, links: links, manifests: manifestsOfArgo3,
		versions: append(slices.Clone(kubernetesVersions), argo3Version),
	}
}

// newArgoSet has the newest Argo CD, whose libraries are too new for the program of fleetSet. newKubernetesSet has the programs
// of the newest Kubernetes, for the end Newest.
var (
	newArgoSet       = newest(argoServers, program{"argocd", argo3Module + "/cmd"})
	newKubernetesSet = newest(nil, kubernetesPrograms...)
)

// kubernetesPrograms are the programs of Kubernetes in the sets of both ends.
var kubernetesPrograms = []program{
	{"kube-apiserver", kubernetesModule + "/cmd/kube-apiserver"},
	{"kube-controller-manager", kubernetesModule + "/cmd/kube-controller-manager"},
	{"kube-scheduler", kubernetesModule + "/cmd/kube-scheduler"},
}

// oldKubernetesSet has the programs of the oldest Kubernetes that Towline supports, for the end Oldest.
var oldKubernetesSet = programSet{name: "kubernetes", programs: kubernetesPrograms, versions: kubernetesVersions}

// oldOCMSet has the programs of the oldest OCM that Towline supports, for the end Oldest. Version 1.0 has other names for the
// manifests of the hub.
var oldOCMSet = programSet{
	name: "ocm",
	programs: []program{
		{"work", ocmModule + "/cmd/work"},
		{"placement", ocmModule + "/cmd/placement"},
		{"registration", ocmModule + "/cmd/registration"},
		{"addon", ocmModule + "/cmd/addon"},
	},
	manifests: []manifest{
		{apiModule, "work/v1/*.crd.yaml", ocmManifests + "/crds"},
		{apiModule, "cluster/v1*/*.crd.yaml", ocmManifests + "/crds"},
		{apiModule, "addon/v1alpha1/*.crd.yaml", ocmManifests + "/crds"},
		{ocmModule, "manifests/cluster-manager/hub/cluster-manager-addon-manager-serviceaccount.yaml", ocmManifests + "/addon-manager"},
		{ocmModule, "manifests/cluster-manager/hub/cluster-manager-addon-manager-clusterrole*.yaml", ocmManifests + "/addon-manager"},
		{ocmModule, "manifests/cluster-manager/hub/cluster-manager-registration-clusterrole*.yaml", ocmManifests + "/registration-rights"},
		{ocmModule, "manifests/klusterlet/managed/klusterlet-*.yaml", ocmManifests + "/klusterlet"},
		{ocmModule, "manifests/klusterlet/management/klusterlet-*role*.yaml", ocmManifests + "/klusterlet-management"},
	},
	versions: []version{ocmVersion},
}

// sets returns the sets of an end whose programs take the place of programs in fleetSet.
func (e End) sets() []programSet {
	switch e {
	case Oldest:
		return []programSet{oldKubernetesSet, oldOCMSet}
	case Newest:
		return []programSet{newKubernetesSet}
	}
	return nil
}

// kubernetes returns the set with the programs of Kubernetes.
func (e End) kubernetes() programSet {
	switch e {
	case Oldest:
		return oldKubernetesSet
	case Newest:
		return newKubernetesSet
	}
	return fleetSet
}

// ocm returns the set with the programs and the manifests of OCM.
func (e End) ocm() programSet {
	if e == Oldest {
		return oldOCMSet
	}
	return fleetSet
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
	{version: "3", set: fleetSet, mutualTLS: true},
	{version: "2.14", set: argo2Set},
	{version: "3.6", set: newArgoSet, mutualTLS: true},
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

// setsFor returns the program sets of a fleet with the given versions of Argo CD, in build order.
func setsFor(versions []string, end End) []programSet {
	sets := []programSet{fleetSet}
	for _, a := range argoCDs {
		if a.set.name != fleetSet.name && slices.Contains(versions, a.version) {
			sets = append(sets, a.set)
		}
	}
	return append(sets, end.sets()...)
}
