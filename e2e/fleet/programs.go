package fleet

// A programSet is a Go module under e2e/programs: its programs share one dependency graph.
type programSet struct {
	name     string
	programs []program
	// links are further names of the first program, which takes its role from the name it is called by.
	links []string
	// manifests are files of the set's modules that the fleet applies, copied beside the programs so that
	// a warm cache needs no module cache.
	manifests []manifest
}

type program struct {
	name, pkg string
}

// A manifest is a file pattern inside a Go module, and the folder of the cache that receives its matches.
type manifest struct {
	module, pattern, folder string
}

const (
	apiModule  = "open-cluster-management.io/api"
	ocmModule  = "open-cluster-management.io/ocm"
	argoModule = "github.com/argoproj/argo-cd/v2"
	kwokModule = "sigs.k8s.io/kwok"
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
			{ocmModule, "manifests/klusterlet/managed/klusterlet-*.yaml", "klusterlet"},
			{ocmModule, "manifests/klusterlet/management/klusterlet-*role*.yaml", "klusterlet-management"},
		},
	}

	argoSet = programSet{
		name:     "argocd",
		programs: []program{{"argocd", "github.com/argoproj/argo-cd/v2/cmd"}},
		links: []string{
			"argocd-application-controller", "argocd-applicationset-controller", "argocd-repo-server", "argocd-server",
		},
		manifests: []manifest{
			{argoModule, "manifests/crds/*-crd.yaml", "crds"},
			{argoModule, "manifests/base/config/argocd-*.yaml", "config"},
			{argoModule, "manifests/base/applicationset-controller/*-role*.yaml", "applicationset-controller"},
			{argoModule, "manifests/base/applicationset-controller/*-sa.yaml", "applicationset-controller"},
			{argoModule, "manifests/cluster-rbac/applicationset-controller/argocd-*.yaml", "applicationset-controller"},
			{argoModule, "manifests/base/server/*-role*.yaml", "server"},
			{argoModule, "manifests/base/server/*-sa.yaml", "server"},
			{argoModule, "manifests/cluster-rbac/server/argocd-*.yaml", "server"},
			{argoModule, "manifests/base/application-controller-roles/argocd-*.yaml", "application-controller"},
			{argoModule, "manifests/cluster-rbac/application-controller/argocd-*.yaml", "application-controller"},
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

// allSets are in the order in which they are built: what `assets` needs comes first.
var allSets = []programSet{etcdSet, kubernetesSet, ocmSet, argoSet, kwokSet, kustomizeSet}

// controlPlaneSet is the part of Kubernetes that a bare control plane needs.
var controlPlaneSet = programSet{name: "kubernetes", programs: kubernetesSet.programs[:2]}
