package check

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/argoredis"
)

// needed are the required resources, with their product and its installation.
var needed = []struct{ resource, of, do string }{
	{"argoproj.io/v1alpha1/applications", "Argo CD", argoInstall},
	{"argoproj.io/v1alpha1/applicationsets", "Argo CD", argoInstall},
	{"argoproj.io/v1alpha1/appprojects", "Argo CD", argoInstall},
	{"cluster.open-cluster-management.io/v1/managedclusters", "Open Cluster Management", ocmInstall},
	{"cluster.open-cluster-management.io/v1beta1/placementdecisions", "Open Cluster Management", ocmInstall},
	{"cluster.open-cluster-management.io/v1beta2/managedclustersetbindings", "Open Cluster Management", ocmInstall},
	{"work.open-cluster-management.io/v1/manifestworks", "Open Cluster Management", ocmInstall},
}

const (
	argoInstall = "install Argo CD: https://argo-cd.readthedocs.io/en/stable/operator-manual/installation/"
	ocmInstall  = "install Open Cluster Management: clusteradm init"
	ownInstall  = "helm upgrade with crds.enabled: see docs/install.md, CRDs"
)

// reports is the resource of reports.
const reports = apis.Group + "/v1alpha1/multiclusterapplicationsetreports"

// own are Towline's own resources.
var own = []string{
	reports, apis.Group + "/v1beta1/gitopsclusters", apis.Group + "/v1alpha1/applicationreports",
}

// NeededResources returns all resources needed by the checks, in the format of Facts.Served.
func NeededResources() []string {
	out := append([]string(nil), own...)
	for _, n := range needed {
		out = append(out, n.resource)
	}
	return out
}

// served checks that the hub has the CRDs of other products.
func served(f *Facts) []Line {
	missing := map[string][]string{}
	do := map[string]string{}
	for _, n := range needed {
		if !f.Served[n.resource] {
			missing[n.of] = append(missing[n.of], n.resource)
			do[n.of] = n.do
		}
	}
	var out []Line
	for _, of := range []string{"Argo CD", "Open Cluster Management"} {
		if names := missing[of]; len(names) > 0 {
			out = append(out, wrong("CRDs", do[of], "the hub does not serve %s, of %s", some(names), of))
		}
	}
	if out == nil {
		out = []Line{good("CRDs", "the hub serves the CRDs of Argo CD and Open Cluster Management")}
	}
	return out
}

// ownServed checks that the hub has Towline's CRDs.
func ownServed(f *Facts) []Line {
	var missing []string
	for _, r := range own {
		if !f.Served[r] {
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		return []Line{wrong("Towline's CRDs", ownInstall, "the hub does not serve %s", some(missing))}
	}
	return nil
}

// Schema is a field that may be missing in an older CRD or in a CRD of a different product.
type Schema struct {
	// CRD is the name of the CRD, and Field is the path of the field, with dots.
	CRD, Field string

	// effect is the effect of a missing field, and do is the remedy.
	effect, do string
}

// Schemas are the checked fields.
var Schemas = []Schema{
	{"multiclusterapplicationsetreports." + apis.Group, "status.conditions",
		"a report has no conditions, and kubectl wait --for=condition=Ready does not return for it (SchemaNarrow)",
		"wait for a value instead, see docs/takeover.md, or install Towline's CRD"},
	{"gitopsclusters." + apis.Group, "status.conditions", "a GitOpsCluster has no conditions (StatusPruned)",
		"install Towline's CRD where its product allows that"},
	{"manifestworks.work.open-cluster-management.io", "spec.manifestConfigs.feedbackRules.jsonPaths", "works report nothing by paths",
		"upgrade Open Cluster Management"},
	{"manifestworks.work.open-cluster-management.io", "spec.manifestConfigs.feedbackScrapeType",
		"the agents poll for feedback: the hub shows a change after 10 to 20 s", "upgrade Open Cluster Management to 1.2"},
	{"manifestworks.work.open-cluster-management.io", "spec.manifestConfigs.updateStrategy.serverSideApply.ignoreFields",
		"works overwrite requests on the clusters", "upgrade Open Cluster Management"},
	{"manifestworks.work.open-cluster-management.io", "spec.manifestConfigs.conditionRules",
		"Towline writes a work twice for each new Application and each sync that a cluster begins", "upgrade Open Cluster Management to 1.0"},
}

// narrow checks for missing fields of CRDs. A different check reports missing CRDs.
func narrow(f *Facts) []Line {
	const name = "schemas of CRDs"
	if f.Unread[CRDs] {
		return []Line{unknown(name, "CustomResourceDefinitions")}
	}
	var out []Line
	for _, s := range Schemas {
		has, known := f.Fields[s.CRD+":"+s.Field]
		if known && !has {
			out = append(out, lesser(name, s.do, "the CRD %s has no %s: %s", s.CRD, s.Field, s.effect))
		}
	}
	if out == nil {
		out = []Line{good(name, "the CRDs have all fields that Towline uses")}
	}
	return out
}

// others checks that no further pull controller runs.
func others(f *Facts) []Line {
	const name = "other controllers"
	var out []Line
	for _, w := range f.Workloads {
		switch {
		case w.Wanted == 0:
		case w.ofAgent():
			out = append(out, lesser(name, "", "argocd-agent runs beside: %s/%s. Let no Application be in both", w.Namespace, w.Name))
		case w.older():
			out = append(out, older(f, w))
		}
	}
	if f.OlderLease.Live(f.Now) {
		out = append(out, lesser(name, "see docs/gitopscluster.md, Beside an older controller",
			"the GitOpsCluster controller of multicluster-integrations runs: this controller creates the cluster Secrets, and Towline does not"))
	}
	switch {
	case out != nil:
	case f.Unread[Deployments]:
		return []Line{unknown(name, "Deployments")}
	default:
		out = []Line{good(name, "no other pull controller runs")}
	}
	return out
}

// OlderDisabled returns whether the ConfigMap of the older controllers disables their pull model.
func OlderDisabled(config string) bool {
	var c struct {
		PullModel struct {
			Basic struct {
				Disabled bool `json:"disabled"`
			} `json:"basic"`
		} `json:"pullModel"`
	}
	return yaml.Unmarshal([]byte(config), &c) == nil && c.PullModel.Basic.Disabled
}

// older returns a line about the older controllers.
func older(f *Facts, w Workload) Line {
	const name = "other controllers"
	do := "see docs/takeover.md, Taking over"
	switch {
	case !f.AtOlder(w):
		return lesser(name, do, "%s/%s has the name of a pull controller, in an unusual namespace: if the Deployment is a "+
			"pull controller, two pull controllers write the same ManifestWorks", w.Namespace, w.Name)
	case w.ofArgoAddOn():
		do = fmt.Sprintf("kubectl -n %s scale deployment/%s --replicas=0, and uninstall nothing: see docs/takeover.md, The add-on argocd", w.Namespace,
			w.Name)
	case f.OlderDisabled:
		return good(name, "%s/%s runs, and its pull model is disabled", w.Namespace, w.Name)
	}
	return wrong(name, do, "%s/%s runs: two pull controllers write the same ManifestWorks", w.Namespace, w.Name)
}

// towline checks the Deployment and its leader.
func towline(f *Facts) []Line {
	const name = "Towline"
	if f.Unread[Deployments] {
		return []Line{unknown(name, "Deployments")}
	}
	var out []Line
	for _, w := range f.controllers() {
		show := fmt.Sprintf("kubectl -n %s logs deployment/%s", w.Namespace, w.Name)
		where := fmt.Sprintf("Deployment %s/%s", w.Namespace, w.Name)
		switch {
		case w.Wanted == 0:
			out = append(out, wrong(name, fmt.Sprintf("kubectl -n %s scale deployment/%s --replicas=2", w.Namespace, w.Name), "%s is scaled to 0", where))
		case w.Ready == 0:
			out = append(out, wrong(name, show, "%s has no ready Pod; the log shows the cause", where))
		case w.Ready < w.Wanted:
			out = append(out, lesser(name, show, "%s has %d of %d Pods ready", where, w.Ready, w.Wanted))
		default:
			out = append(out, good(name, "%s has %d ready, version %s", where, w.Ready, tagOr(w.Image, "unknown")))
		}
	}
	switch len(out) {
	case 0:
		return []Line{wrong(name, "see docs/install.md", "no Deployment has the labels app.kubernetes.io/name=towline and component=controller, "+
			"in the namespace of a ServiceAccount that the ClusterRoleBinding towline-controller names")}
	case 1:
		return append(out, leader(f))
	}
	return append(out, wrong(name, "delete all but one", "%d Deployments of Towline exist, but only one may write", len(out)))
}

// controllers returns Towline's Deployments on the hub.
func (f *Facts) controllers() []Workload {
	var out []Workload
	for _, w := range f.Workloads {
		if w.OfTowline() && w.Labels["app.kubernetes.io/component"] == "controller" {
			out = append(out, w)
		}
	}
	return out
}

func leader(f *Facts) Line {
	const name = "leader"
	switch {
	case f.Unread[Leases]:
		return unknown(name, "the Lease towline-controller")
	case f.Lease == nil:
		return wrong(name, "read the log of towline-controller: a right to Leases may be missing", "nobody has ever held the Lease towline-controller")
	case !f.Lease.Live(f.Now):
		return wrong(name, "look at the Pods and their log", "nobody holds the Lease towline-controller since %s", f.Lease.Renewed.UTC().Format("15:04:05"))
	}
	return good(name, "%s", f.Lease.Holder)
}

// latest is an image tag that names no version.
const latest = "latest"

// skew checks that the hub, the agents and the plugin have the same version.
func skew(f *Facts) []Line {
	const name = "versions"
	controllers := f.controllers()
	if len(controllers) != 1 || tag(controllers[0].Image) == "" {
		return nil
	}
	hub := tag(controllers[0].Image)
	var out []Line
	if f.Plugin != hub && f.Plugin != "dev" && hub != latest {
		out = append(out, lesser(name, "install kubectl towline "+hub, "the hub runs %s, and this is %s: decisions may differ", hub, f.Plugin))
	}
	if agent := tag(f.Agent); agent != "" && agent != hub {
		out = append(out, lesser(name, "helm upgrade, or make addon-manifest IMAGE="+controllers[0].Image+" && kubectl apply -f bin/addon.yaml",
			"the hub runs %s, and the agents %s", hub, agent))
	}
	if out == nil {
		out = []Line{good(name, "%s", hub)}
	}
	return out
}

// PolicyNames are the ValidatingAdmissionPolicies of deploy/admission.
var PolicyNames = []string{
	"towline-applicationreports", "towline-applications", "towline-applicationsets", "towline-clusters", "towline-joins",
	"towline-pull-label", "towline-reports", "towline-works",
}

func policies(f *Facts) []Line {
	const name = "admission policies"
	if f.Unread[Policies] {
		return []Line{unknown(name, "ValidatingAdmissionPolicies")}
	}
	var missing []string
	for _, p := range PolicyNames {
		if !f.Policies[p] {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		return []Line{lesser(name,
			"helm upgrade with admissionPolicies.enabled=true: see docs/security.md, Admission policies",
			"not there, or not bound: %s. Clusters' agents can change more than they have to", some(missing))}
	}
	return []Line{good(name, "all are there, and bound")}
}

// redis checks whether Towline finds Argo CD's Redis. Only Towline itself reads the folder of --argocd-redis.
func redis(f *Facts) []Line {
	const name = "Argo CD's Redis"
	switch {
	case f.NoTree:
		return nil
	case f.Redis != "":
		return []Line{good(name, "--argocd-redis: as the files in %s say; not looked at", f.Redis)}
	}
	return []Line{foundRedis(f, name)}
}

// foundRedis checks whether Argo CD's objects contain the address of its Redis.
func foundRedis(f *Facts, name string) Line {
	if f.Services == nil {
		return unknown(name, "which Services namespace "+f.Namespace+" has")
	}
	facts := argoredis.Facts{Namespace: f.Namespace, Params: f.ArgoCDParams}
	for _, service := range argoredis.Services {
		if f.Services[service] {
			facts.Service = service
			break
		}
	}
	e, err := argoredis.Find(facts)
	if err != nil {
		return lesser(name, "see docs/agent.md, The tree in the UI", "%v. argocd-server does not show the resources of Applications", err)
	}
	return good(name, "Argo CD's objects name %s", e.HostPort)
}
