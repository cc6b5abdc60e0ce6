package check_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/check"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/why"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// good returns the facts of a hub or a cluster without problems.
func good(edits ...func(*check.Facts)) *check.Facts {
	labels := func(name, component string) map[string]string {
		return map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/component": component}
	}
	f := &check.Facts{
		Now: now, Kubernetes: "v1.35.0", Unread: map[string]bool{}, Served: map[string]bool{}, Fields: map[string]bool{}, Plugin: "v1",
		Rights: map[check.Right]bool{{Verb: "create", Group: "apps", Resource: "deployments"}: true},
		Workloads: []check.Workload{
			{Namespace: "argocd", Name: "towline-controller", Labels: labels("towline", "controller"), Image: "r.example:5000/towline:v1", Wanted: 2,
				Ready: 2},
			{Namespace: "addon", Name: "towline-agent", Labels: labels("towline", "agent"), Image: "r.example/towline:v1@sha256:ab", Wanted: 1, Ready: 1},
			{Namespace: "argocd", Name: "set", Labels: labels("argocd-applicationset-controller", ""), Image: "quay.io/argoproj/argocd:v3.5.7", Wanted: 1,
				Ready: 1},
			{Namespace: "argocd", Name: "app", Labels: labels("argocd-application-controller", ""), Image: "quay.io/argoproj/argocd:v2.14.1", Wanted: 1,
				Ready: 1},
			{Namespace: "agent", Name: "klusterlet-work-agent", Wanted: 1, Ready: 1},
		},
		Namespace: "argocd", Services: map[string]bool{"argocd-redis": true},
		Lease: &check.Lease{Holder: "pod-1", Renewed: now.Add(-time.Second)}, Policies: map[string]bool{}, Agent: "r.example/towline:v1",
		Refused: map[string]string{}, Unlabelled: []string{},
		Clusters: []check.Cluster{{Name: "c1", Accepted: true, Available: true, AddOns: map[string]bool{"towline-agent": true, "towline-rights": true}}},
	}
	for _, r := range check.NeededResources() {
		f.Served[r] = true
	}
	for _, s := range check.Schemas {
		f.Fields[s.CRD+":"+s.Field] = true
	}
	for _, p := range check.PolicyNames {
		f.Policies[p] = true
	}
	for _, e := range edits {
		e(f)
	}
	return f
}

func TestHealthyHub(t *testing.T) {
	for title, lines := range map[string][]check.Line{
		"before": check.Before(good()), "installation": check.Installation(good()), "managed": check.Managed(good()),
	} {
		for _, l := range lines {
			if l.State != why.OK {
				t.Errorf("%s: %+v", title, l)
			}
		}
		if len(lines) < 4 || check.Verdict(lines) != why.OK {
			t.Errorf("%s: %d lines", title, len(lines))
		}
	}
}

// TestChecks checks that each possible problem has a separate line, with a remedy.
func TestChecks(t *testing.T) {
	workload := func(i int, edit func(*check.Workload)) func(*check.Facts) {
		return func(f *check.Facts) { edit(&f.Workloads[i]) }
	}
	unread := func(kind string) func(*check.Facts) { return func(f *check.Facts) { f.Unread[kind] = true } }
	field := func(i int) func(*check.Facts) {
		return func(f *check.Facts) { f.Fields[check.Schemas[i].CRD+":"+check.Schemas[i].Field] = false }
	}
	other := func(name string, wanted int32) func(*check.Facts) {
		return func(f *check.Facts) {
			f.Workloads = append(f.Workloads, check.Workload{Namespace: "open-cluster-management", Name: name, Wanted: wanted, Ready: wanted})
		}
	}
	cluster := func(edit func(*check.Cluster)) func(*check.Facts) {
		return func(f *check.Facts) { edit(&f.Clusters[0]) }
	}
	acm := func(edit func(*check.Facts)) func(*check.Facts) {
		return func(f *check.Facts) { f.Served[check.ACMHub] = true; edit(f) }
	}
	argoAddOn := func(stays bool) func(*check.Facts) {
		return func(f *check.Facts) {
			f.Clusters[0].AddOns[check.AddOnArgoCD] = true
			f.ArgoAddOn = check.NewArgoAddOn([]any{addOnManifest("applications.argoproj.io", stays), addOnManifest("appprojects.argoproj.io", true)})
		}
	}
	// gitless lets cluster c1 read through the hub, with a usable way, and then edits the facts.
	gitless := func(edits ...func(*check.Facts)) func(*check.Facts) {
		return func(f *check.Facts) {
			f.Clusters[0].ThroughHub, f.Source, f.Door = true, &why.SourceState{}, true
			for _, edit := range edits {
				edit(f)
			}
		}
	}
	// differing lets the agents send managed resources to the hub, with a usable way, and then edits the facts.
	differing := func(edits ...func(*check.Facts)) func(*check.Facts) {
		return func(f *check.Facts) {
			f.Source, f.Agent, f.Sends, f.HubRefused = &why.SourceState{}, "r.example/towline:v1", true, true
			f.Workloads = append(f.Workloads, check.Workload{Namespace: f.Namespace, Name: "towline-source", ManagedResources: "guarded",
				Labels: map[string]string{"app.kubernetes.io/name": "towline-source"}})
			for _, edit := range edits {
				edit(f)
			}
		}
	}
	lastWorkload := func(edit func(*check.Workload)) func(*check.Facts) {
		return func(f *check.Facts) { edit(&f.Workloads[len(f.Workloads)-1]) }
	}
	const sources, differences = "sources through the hub", "differences in Argo CD"
	for title, tc := range map[string]struct {
		of    func(*check.Facts) []check.Line
		edit  func(*check.Facts)
		name  string
		state why.State
		says  string
	}{
		"old Kubernetes": {check.Before, func(f *check.Facts) { f.Kubernetes = "v1.29.3+k3s1" }, "Kubernetes", why.Blocked, "1.30"},
		"built by hand":  {check.Before, func(f *check.Facts) { f.Kubernetes = "v0.0.0-master" }, "Kubernetes", why.Waiting, "reports no version"},
		"odd Kubernetes": {check.Before, func(f *check.Facts) { f.Kubernetes = "odd" }, "Kubernetes", why.Unknown, "version"},
		"no Applications": {check.Before, func(f *check.Facts) { f.Served["argoproj.io/v1alpha1/applications"] = false }, "CRDs", why.Blocked,
			"applications, of Argo CD"},
		"no works": {check.Before, func(f *check.Facts) { delete(f.Served, "work.open-cluster-management.io/v1/manifestworks") }, "CRDs",
			why.Blocked, "manifestworks"},
		"no own CRDs": {check.Installation, func(f *check.Facts) { delete(f.Served, apis.Group+"/v1beta1/gitopsclusters") }, "Towline's CRDs",
			why.Blocked, "gitopsclusters"},
		"no right": {check.Before, func(f *check.Facts) { f.Rights[check.Right{Verb: "create", Group: "g", Resource: "r"}] = false },
			"your rights", why.Blocked, "create r.g"},
		"rights unread": {check.Managed, unread(check.Reviews), "rights of the work agent", why.Unknown, "may not read"},
		"no Argo CD":    {check.Managed, func(f *check.Facts) { f.Workloads = nil }, "Argo CD", why.Blocked, "nothing is deployed"},
		"a tenant's workload in place of a missing Argo CD": {check.Managed, workload(3, func(w *check.Workload) { w.Namespace = "tenant" }),
			"Argo CD", why.Blocked, "no Deployment or StatefulSet in namespace argocd"},
		"a tenant's Deployment with the name of an older controller": {check.Installation, func(f *check.Facts) {
			f.Workloads = append(f.Workloads, check.Workload{Namespace: "tenant", Name: "multicluster-integrations", Wanted: 1, Ready: 1})
		}, "other controllers", why.Waiting, "in an unusual namespace"},
		"old Argo CD": {check.Managed, workload(3, func(w *check.Workload) { w.Image = "argocd:v2.8.0" }), "Argo CD", why.Waiting, "2.14"},
		"of an operator": {check.Managed, workload(3, func(w *check.Workload) {
			w.Labels["app.kubernetes.io/name"], w.Image = "openshift-gitops-application-controller", "r.example/argocd@sha256:ab"
		}), "Argo CD", why.OK, "version unknown"},
		"Argo CD is down": {check.Managed, workload(3, func(w *check.Workload) { w.Ready = 0 }), "Argo CD", why.Blocked, "not ready"},
		"no CRD there":    {check.Managed, func(f *check.Facts) { f.Served = nil }, "CRDs", why.Blocked, "does not serve"},
		"no sets": {check.Installation, workload(2, func(w *check.Workload) { w.Labels = nil }), "ApplicationSets", why.Blocked,
			"no ApplicationSet"},
		"a cluster without Git": {check.Installation, gitless(), sources, why.OK, "answers for c1"},
		"without towline-source": {check.Installation, gitless(func(f *check.Facts) { f.Source.Missing = true }), sources, why.Blocked,
			"not installed on the hub. Without new commits: c1"},
		"towline-source is down": {check.Installation, gitless(func(f *check.Facts) { f.Source.Unavailable = "no endpoints" }), sources, why.Blocked,
			"does not answer: no endpoints. Without new commits: c1"},
		"the agents serve no repositories": {check.Installation, gitless(func(f *check.Facts) { f.Door = false }), sources, why.Blocked,
			"no --source-bind-address"},
		"no agent on a cluster without Git": {check.Installation,
			gitless(func(f *check.Facts) { delete(f.Clusters[0].AddOns, check.AddOnAgent) }), sources, why.Blocked,
			"the add-on towline-agent is missing. Without new commits: c1"},
		"the add-ons of a cluster without Git unread": {check.Installation,
			gitless(func(f *check.Facts) { f.Clusters[0].AddOns = nil }, unread(check.AddOns)), sources, why.OK, "answers for c1"},
		"only Applications read through the hub": {check.Installation, func(f *check.Facts) {
			f.ThroughHub, f.Source = map[string]int{"c1": 1, "c2": 1}, &why.SourceState{Missing: true}
		}, sources, why.Blocked, "Applications with the annotation (2)"},
		"no agent for Applications that read through the hub": {check.Installation, func(f *check.Facts) {
			f.ThroughHub, f.Source, f.Door = map[string]int{"c1": 1, "gone": 1}, &why.SourceState{}, true
			delete(f.Clusters[0].AddOns, check.AddOnAgent)
		}, sources, why.Blocked, "the add-on towline-agent is missing. Without new commits: c1"},
		"no agent for Applications of another cluster": {check.Installation, func(f *check.Facts) {
			f.ThroughHub, f.Source, f.Door = map[string]int{"c2": 1}, &why.SourceState{}, true
			delete(f.Clusters[0].AddOns, check.AddOnAgent)
		}, sources, why.OK, "answers for Applications with the annotation (1)"},
		"APIServices unread": {check.Installation, gitless(func(f *check.Facts) { f.Source = nil }, unread(check.APIServices)), sources, why.Unknown,
			"may not read APIServices, and c1"},
		"managed resources": {check.Installation, differing(), differences, why.OK, "takes the managed resources"},
		"managed resources without towline-source": {check.Installation, differing(lastWorkload(func(w *check.Workload) { w.ManagedResources = "" })),
			differences, why.Blocked, "no Deployment of towline-source in namespace argocd has --managed-resources"},
		"managed resources of a tenant's towline-source": {check.Installation, differing(lastWorkload(func(w *check.Workload) { w.Namespace = "tenant" })),
			differences, why.Blocked, "no Deployment of towline-source in namespace argocd has --managed-resources"},
		"managed resources, and Deployments unread": {check.Installation, func(f *check.Facts) { f.Sends, f.Unread[check.Deployments] = true, true },
			differences, why.Unknown, "may not read Deployments"},
		"managed resources that no agent sends": {check.Installation, differing(func(f *check.Facts) { f.Sends = false }), differences, why.Waiting,
			"no --argocd-managed-resources"},
		"managed resources, and towline-source is down": {check.Installation, differing(func(f *check.Facts) { f.Source.Unavailable = "no endpoints" }),
			differences, why.Blocked, `no endpoints. argocd app diff on the hub ends in "cache: key is missing"`},
		"managed resources, and APIServices unread": {check.Installation, differing(func(f *check.Facts) { f.Source = nil }, unread(check.APIServices)),
			differences, why.Unknown, "may not read APIServices"},
		"managed resources, and argocd-server may use the hub": {check.Installation, differing(func(f *check.Facts) { f.HubRefused = false }), differences,
			why.Blocked, `ConfigMap argocd/argocd-cm does not have cluster.inClusterEnabled: "false"`},
		"managed resources, and the hub's Redis is away": {check.Installation, differing(func(f *check.Facts) { f.RedisAway = true }), differences,
			why.Blocked, `does not answer towline-source. argocd app diff on the hub ends in "cache: key is missing"`},
		"managed resources, and the settings unread": {check.Installation, differing(unread(check.Settings)), differences, why.Unknown, "argocd-cm"},
		"managed resources for Argo CD 2.14": {check.Installation, differing(func(f *check.Facts) { f.HubRefused = false },
			lastWorkload(func(w *check.Workload) { w.ManagedResources = "always" })), differences, why.OK, "takes the managed resources"},
		"scaled to 0":   {check.Installation, workload(0, func(w *check.Workload) { w.Wanted, w.Ready = 0, 0 }), "Towline", why.Blocked, "scaled to 0"},
		"not ready":     {check.Installation, workload(0, func(w *check.Workload) { w.Ready = 0 }), "Towline", why.Blocked, "no ready Pod"},
		"one ready":     {check.Installation, workload(0, func(w *check.Workload) { w.Ready = 1 }), "Towline", why.Waiting, "1 of 2"},
		"not installed": {check.Installation, workload(0, func(w *check.Workload) { w.Labels = nil }), "Towline", why.Blocked, "no Deployment"},
		"twice": {check.Installation, func(f *check.Facts) { f.Workloads = append(f.Workloads, f.Workloads[0]) }, "Towline", why.Blocked,
			"2 Deployments"},
		"nothing read":   {check.Installation, unread(check.Deployments), "Towline", why.Unknown, "Deployments"},
		"no leader":      {check.Installation, func(f *check.Facts) { f.Lease = nil }, "leader", why.Blocked, "nobody"},
		"late leader":    {check.Installation, func(f *check.Facts) { f.Lease.Renewed = now.Add(-time.Hour) }, "leader", why.Blocked, "since 02:04:05"},
		"leader unread":  {check.Installation, unread(check.Leases), "leader", why.Unknown, "Lease"},
		"another plugin": {check.Installation, func(f *check.Facts) { f.Plugin = "v2" }, "versions", why.Waiting, "this is v2"},
		"other agents":   {check.Installation, func(f *check.Facts) { f.Agent = "towline:v0" }, "versions", why.Waiting, "the agents v0"},
		"the image's tag names no version": {check.Installation, func(f *check.Facts) {
			workload(0, func(w *check.Workload) { w.Image = "r.example/towline:latest" })(f)
			f.Agent = "r.example/towline:latest"
		}, "versions", why.OK, "latest"},
		"narrow report":    {check.Installation, field(0), "schemas of CRDs", why.Waiting, "SchemaNarrow"},
		"older works":      {check.Before, field(3), "schemas of CRDs", why.Waiting, "after 10 to 20 s"},
		"CRDs unread":      {check.Before, unread(check.CRDs), "schemas of CRDs", why.Unknown, "CustomResourceDefinitions"},
		"older controller": {check.Installation, other("multicluster-integrations", 1), "other controllers", why.Blocked, "two pull controllers"},
		"older, off": {check.Installation, func(f *check.Facts) { other("multicluster-integrations", 1)(f); f.OlderDisabled = true },
			"other controllers", why.OK,
			"is disabled"},
		"older, at 0":         {check.Installation, other("multicloud-integrations", 0), "other controllers", why.OK, "no other"},
		"add-on's controller": {check.Before, other("argocd-pull-integration", 1), "other controllers", why.Blocked, "two pull controllers"},
		"add-on's controller, and the switch of another": {check.Before, func(f *check.Facts) {
			other("argocd-pull-integration", 1)(f)
			f.OlderDisabled = true
		}, "other controllers", why.Blocked, "two pull controllers"},
		"controller of argocd-agent": {check.Before, func(f *check.Facts) {
			f.Workloads = append(f.Workloads, check.Workload{
				Namespace: "argocd", Name: "argocd-pull-integration-controller", Wanted: 1, Ready: 1,
				Labels: map[string]string{"app.kubernetes.io/part-of": "argocd-agent-addon"},
			})
		}, "other controllers", why.Waiting, "argocd-agent runs beside"},
		"ACM, another generator's ConfigMap": {check.Before,
			acm(func(f *check.Facts) {
				f.ACM.Generators = []check.Generator{{Set: "gitops/a", ConfigMap: "ocm-placement-generator"}}
			}),
			"generators", why.Blocked, "no ConfigMap of the generator in argocd. Advanced Cluster Management makes acm-placement: gitops/a reads ocm-"},
		"ACM without a GitOpsCluster": {check.Before,
			acm(func(f *check.Facts) {
				f.ACM.Generators = []check.Generator{{Set: "gitops/a", ConfigMap: "acm-placement"}}
			}),
			"generators", why.Blocked, "no ConfigMap acm-placement in argocd, for the generators of gitops/a"},
		"ACM, Secrets with credentials": {check.Installation, acm(func(f *check.Facts) { f.ACM.WithCredentials = []string{"gitops/all"} }),
			"cluster Secrets", why.Waiting, "with credentials, or none, for the GitOpsClusters gitops/all"},
		"ACM, a deprecated CRD": {check.Installation, acm(func(f *check.Facts) { f.ACM.Deprecated = true }), "CRD of reports", why.Waiting,
			"will remove it"},
		"ACM without the CRD": {check.Before, acm(func(f *check.Facts) { delete(f.Served, apis.Group+"/v1alpha1/multiclusterapplicationsetreports") }),
			"CRD of reports", why.Waiting, "the hub has no CRD"},
		"ACM without app-lifecycle": {check.Before, acm(func(*check.Facts) {}), "cluster Secrets", why.Waiting, "nobody makes cluster Secrets"},
		"ACM without app-lifecycle, installed with the profile acm": {check.Installation,
			acm(func(f *check.Facts) { f.NoGitOpsClusters = true }), "cluster Secrets", why.Waiting,
			"without the controller gitopscluster, so nobody makes cluster Secrets"},
		"ACM's pull controller": {check.Before, acm(other("multicluster-integrations", 1)), "other controllers", why.Blocked,
			"two pull controllers"},
		"works without executor": {check.Installation, func(f *check.Facts) { f.NilExecutor = check.NilExecutor{Enabled: true, Without: "argocd/towline"} },
			"executors", why.Blocked, "NilExecutorValidating is on, and ServiceAccount argocd/towline may not"},
		"works without executor, permitted": {check.Installation, func(f *check.Facts) { f.NilExecutor.Enabled = true }, "executors", why.OK,
			"NilExecutorValidating is on, and Towline has the right"},
		"works without executor, before": {check.Before, func(f *check.Facts) { f.NilExecutor.Enabled = true }, "executors", why.OK,
			"NilExecutorValidating is on. Towline's ClusterRole has the right"},
		"works without executor, rights unread": {check.Installation, func(f *check.Facts) { f.NilExecutor.Enabled = true; unread(check.Reviews)(f) },
			"executors", why.Unknown, "NilExecutorValidating is on"},
		"no pull label": {check.Before, func(f *check.Facts) { f.Unlabelled = []string{"shop/a"} }, "pull label", why.Blocked,
			"nobody delivers shop/a"},
		"labels not known": {check.Installation, func(f *check.Facts) { f.Unlabelled = nil }, "pull label", why.Unknown,
			"Applications"},
		"add-on argocd": {check.Before, argoAddOn(false), "add-on argocd", why.Waiting,
			"uninstalling the add-on deletes all Applications"},
		"add-on argocd that leaves everything": {check.Before, argoAddOn(true), "add-on argocd", why.OK, "the clusters keep Argo CD"},
		"add-on argocd on no cluster": {check.Before, func(f *check.Facts) { argoAddOn(false)(f); delete(f.Clusters[0].AddOns, check.AddOnArgoCD) },
			"add-on argocd", why.OK, "no cluster has"},
		"argocd-agent": {check.Installation, other("argocd-agent-principal", 1), "other controllers", why.Waiting, "argocd-agent"},
		"older lease": {check.Installation, func(f *check.Facts) { f.OlderLease = f.Lease }, "other controllers", why.Waiting,
			"creates the cluster Secrets, and Towline does not"},
		"no policy": {check.Installation, func(f *check.Facts) { f.Policies["towline-works"] = false }, "admission policies", why.Waiting,
			"towline-works"},
		"policies unread": {check.Installation, unread(check.Policies), "admission policies", why.Unknown, "may not"},
		"found Redis": {check.Installation, func(*check.Facts) {}, "Argo CD's Redis", why.OK,
			"Argo CD's objects name argocd-redis.argocd.svc:6379"},
		"Redis that Argo CD names": {check.Installation, func(f *check.Facts) {
			f.ArgoCDParams = map[string]string{"redis.server": "redis.example.com:6379"}
		}, "Argo CD's Redis", why.OK, "redis.example.com:6379"},
		"no Redis to be found": {check.Installation, func(f *check.Facts) { f.Services = map[string]bool{} }, "Argo CD's Redis", why.Waiting,
			"--argocd-redis"},
		"Services unread": {check.Installation, func(f *check.Facts) { f.Services = nil }, "Argo CD's Redis", why.Unknown, "namespace argocd"},
		"Redis that a folder names": {check.Installation, func(f *check.Facts) { f.Redis, f.Services = "/etc/towline/redis", nil },
			"Argo CD's Redis", why.OK, "as the files in /etc/towline/redis say; not looked at"},
		"no cluster":      {check.Installation, func(f *check.Facts) { f.Clusters = nil }, "clusters", why.Blocked, "no ManagedCluster"},
		"not accepted":    {check.Installation, cluster(func(c *check.Cluster) { c.Accepted = false }), "clusters", why.Blocked, "not accepted: c1"},
		"not heard of":    {check.Installation, cluster(func(c *check.Cluster) { c.Available = false }), "clusters", why.Blocked, "not heard of: c1"},
		"clusters unread": {check.Installation, unread(check.Clusters), "clusters", why.Unknown, "ManagedClusters"},
		"no rights there": {check.Installation, func(f *check.Facts) { f.Refused["c1"] = "applications is forbidden" }, "work agents", why.Blocked,
			"without the right"},
		"refused there":   {check.Installation, func(f *check.Facts) { f.Refused["c1"] = "no such kind" }, "work agents", why.Blocked, "no such kind"},
		"refusals unread": {check.Installation, func(f *check.Facts) { f.Refused = nil }, "work agents", why.Unknown, "Applications"},
		"add-on fails": {check.Installation, cluster(func(c *check.Cluster) { c.AddOns["towline-rights"] = false }), "add-ons", why.Blocked,
			"not available on c1"},
		"no add-on":        {check.Installation, cluster(func(c *check.Cluster) { c.AddOns = nil }), "add-ons", why.Waiting, "towline-agent is not on c1"},
		"add-ons unread":   {check.Installation, unread(check.AddOns), "add-ons", why.Unknown, "ManagedClusterAddOns"},
		"no work agent":    {check.Managed, workload(4, func(w *check.Workload) { w.Name = "x" }), "work agent", why.Blocked, "no Deployment"},
		"work agent down":  {check.Managed, workload(4, func(w *check.Workload) { w.Ready = 0 }), "work agent", why.Blocked, "not ready"},
		"no own agent":     {check.Managed, workload(1, func(w *check.Workload) { w.Labels = nil }), "Towline's agent", why.Waiting, "not installed"},
		"own agent down":   {check.Managed, workload(1, func(w *check.Workload) { w.Ready = 0 }), "Towline's agent", why.Blocked, "not ready"},
		"agents not known": {check.Managed, unread(check.Deployments), "agents", why.Unknown, "Deployments"},
	} {
		lines := tc.of(good(tc.edit))
		found := false
		for _, l := range lines {
			if l.Name == tc.name && l.State == tc.state && strings.Contains(l.Message, tc.says) {
				found = true
				if l.State == why.Blocked && l.Do == "" {
					t.Errorf("%s: nothing to do: %+v", title, l)
				}
			}
		}
		if !found {
			t.Errorf("%s: %+v", title, lines)
		}
	}
}

// addOnManifest returns a CRD in an AddOnTemplate. With stays, clusters keep the CRD when the add-on goes.
func addOnManifest(name string, stays bool) map[string]any {
	metadata := map[string]any{"name": name}
	if stays {
		metadata["annotations"] = map[string]any{"addon.open-cluster-management.io/deletion-orphan": ""}
	}
	return map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata}
}

// TestArgoAddOn checks that a template without the CRD of Applications gives no ArgoAddOn.
func TestArgoAddOn(t *testing.T) {
	if got := check.NewArgoAddOn([]any{addOnManifest("another.example", false), "no object"}); got != nil {
		t.Errorf("%+v", got)
	}
	if got := check.NewArgoAddOn(nil); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestACM checks that a hub of Advanced Cluster Management with a disabled pull model has no problem.
func TestACM(t *testing.T) {
	lines := check.Before(good(func(f *check.Facts) {
		f.Served[check.ACMHub], f.OlderDisabled = true, true
		f.Workloads = append(f.Workloads, check.Workload{Namespace: "open-cluster-management", Name: "multicluster-integrations", Wanted: 1, Ready: 1})
	}))
	if check.Verdict(lines) != why.OK {
		t.Errorf("%+v", lines)
	}
}

// TestGenerators checks the remedy for a missing ConfigMap, which depends on the name of the ConfigMap.
func TestGenerators(t *testing.T) {
	for name, do := range map[string]string{
		"ocm-placement-generator": "set configMapRef to acm-placement",
		"acm-placement":           "create a GitOpsCluster for the Argo CD: the controller of GitOpsClusters then makes the ConfigMap",
	} {
		lines := check.Before(good(func(f *check.Facts) {
			f.Served[check.ACMHub] = true
			f.ACM.Generators = []check.Generator{{Set: "gitops/a", ConfigMap: name}}
		}))
		lines = slices.DeleteFunc(lines, func(l check.Line) bool { return l.Name != "generators" })
		if len(lines) != 1 || lines[0].Do != do {
			t.Errorf("%s: %+v", name, lines)
		}
	}
}

// TestSecretsMade checks that an installation has no line about cluster Secrets if a controller makes the Secrets.
func TestSecretsMade(t *testing.T) {
	for title, edit := range map[string]func(*check.Facts){
		"Towline": func(*check.Facts) {},
		"Advanced Cluster Management": func(f *check.Facts) {
			f.NoGitOpsClusters, f.OlderDisabled = true, true
			f.Workloads = append(f.Workloads, check.Workload{Namespace: "ocm", Name: "multicluster-integrations", Wanted: 1, Ready: 1})
		},
		"no hub of Advanced Cluster Management": func(f *check.Facts) { f.NoGitOpsClusters = true; delete(f.Served, check.ACMHub) },
	} {
		lines := check.Installation(good(func(f *check.Facts) { f.Served[check.ACMHub] = true; edit(f) }))
		if slices.ContainsFunc(lines, func(l check.Line) bool { return l.Name == "cluster Secrets" }) {
			t.Errorf("%s: %+v", title, lines)
		}
	}
}

// TestNilExecutorEnabled checks that only the gate of the work controller counts, and only if the gate is enabled.
func TestNilExecutorEnabled(t *testing.T) {
	for gates, want := range map[string]bool{
		`[{"feature":"NilExecutorValidating","mode":"Enable"}]`:                                     true,
		`[{"feature":"Other","mode":"Enable"},{"feature":"NilExecutorValidating","mode":"Enable"}]`: true,
		`[{"feature":"NilExecutorValidating","mode":"Disable"}]`:                                    false,
		`[{"feature":"NilExecutorValidating"}]`:                                                     false,
		`["odd"]`:                                                                                   false,
		`null`:                                                                                      false,
	} {
		manager := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(`{"kind":"ClusterManager","spec":{"workConfiguration":{"featureGates":`+gates+`}}}`), &manager.Object); err != nil {
			t.Fatal(err)
		}
		if check.NilExecutorEnabled(manager) != want {
			t.Errorf("%s: %t", gates, !want)
		}
	}
}

// TestUnlabelled checks that an Application counts if no controller delivers the Application because of the missing
// label.
func TestUnlabelled(t *testing.T) {
	const skip, cluster = "argocd.argoproj.io/skip-reconcile", apis.AnnotationCluster
	for title, tc := range map[string]struct {
		labels, annotations map[string]string
		want                bool
	}{
		"the key as an annotation":        {nil, map[string]string{skip: "true", apis.LabelPull: "true"}, true},
		"a cluster without the label":     {nil, map[string]string{skip: "True", cluster: "c1"}, true},
		"a label that says false":         {map[string]string{apis.LabelPull: "false"}, map[string]string{skip: "true", cluster: "c1"}, false},
		"deployed by the hub's Argo CD":   {nil, map[string]string{cluster: "c1"}, false},
		"skipped, and of another product": {nil, map[string]string{skip: "true"}, false},
	} {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels, Annotations: tc.annotations}}
		if check.Unlabelled(m) != tc.want {
			t.Errorf("%s: %t", title, !tc.want)
		}
	}
}

func TestHasField(t *testing.T) {
	o := func(kv ...any) map[string]any { return map[string]any{kv[0].(string): kv[1]} }
	schema := o("properties", o("spec", o("properties", o("list", o("items", o("properties", o("name", o("type", "string"))))))))
	for path, want := range map[string]bool{"spec": true, "spec.list": true, "spec.list.name": true, "spec.list.other": false, "status": false} {
		if check.HasField(schema, path) != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
}

func TestOlderDisabled(t *testing.T) {
	for config, want := range map[string]bool{
		"pullModel:\n  basic:\n    disabled: true": true, "pullModel:\n  basic:\n    disabled: false": false, "": false, "{": false,
		"disabled: true": false,
	} {
		if check.OlderDisabled(config) != want {
			t.Errorf("%q: %t", config, !want)
		}
	}
}

// TestTakeover checks that Applications are counted by their fate.
func TestTakeover(t *testing.T) {
	stopped := func(kind, reason string) *delivery.Plan {
		return &delivery.Plan{Conditions: []delivery.Condition{{Type: kind, Reason: reason, Message: "because " + reason}}}
	}
	var fates []check.Fate
	for i := range 7 {
		fates = append(fates, check.Fate{Application: fmt.Sprintf("ns/f%d", i), Plan: stopped(apis.ConditionPropagationForbiddenError,
			apis.ReasonClusterForbidden)})
	}
	fates = append(fates,
		check.Fate{Application: "ns/old", Older: true, Sent: true, Plan: &delivery.Plan{}},
		check.Fate{Application: "ns/own", Sent: true, Plan: &delivery.Plan{}},
		check.Fate{Application: "ns/new", Plan: &delivery.Plan{}},
		check.Fate{Application: "ns/bad", Older: true, Sent: true, Plan: stopped(apis.ConditionPropagationError, apis.ReasonSkipReconcileMissing)},
		check.Fate{Application: "ns/unread", Unread: "you may not get x"}, check.Fate{Application: "ns/unread-too", Unread: "another"})
	var out strings.Builder
	lines := check.Takeover(fates, []string{"c1/w"})
	for _, l := range lines {
		fmt.Fprintf(&out, "%s|%s|%s|%s\n", l.State, l.Name, l.Message, l.Do)
	}
	const want = `ok|taken over|1 ManifestWork of older controllers, in place|
ok|Towline's already|1 ManifestWork|
waiting|sent for the first time|1 Application: ns/new|
blocked|refused|1 Application, reason SkipReconcileMissing: ns/bad. The first: because SkipReconcileMissing|kubectl towline why -n ns bad
blocked|forbidden|7 Applications, reason ClusterForbidden: ns/f0, ns/f1, ns/f2, ns/f3, ns/f4 and 2 more. ` +
		`The first: because ClusterForbidden|kubectl towline why -n ns f0
unknown|not decided|2 Applications, without all the facts for a decision: ns/unread, ns/unread-too. ` +
		`The first: you may not get x|kubectl towline why -n ns unread
waiting|without Application|1 ManifestWork would be kept until a person decides: c1/w|see docs/takeover.md, Taking over
`
	if diff := cmp.Diff(want, out.String()); diff != "" || check.Verdict(lines) != why.Blocked {
		t.Error(diff)
	}
}

// TestVerdict checks that an unreadable fact is worse than a reduced function.
func TestVerdict(t *testing.T) {
	var lines []check.Line
	for _, worse := range []why.State{why.OK, why.Waiting, why.Unknown, why.Blocked} {
		lines = append(lines, check.Line{State: worse})
		if got := check.Verdict(lines); got != worse {
			t.Errorf("%+v: %s, want %s", lines, got, worse)
		}
	}
}

// TestNoTree checks that the lines omit Redis if no controller writes to Redis.
func TestNoTree(t *testing.T) {
	for _, without := range []bool{false, true} {
		f := &check.Facts{NoTree: without}
		told := slices.ContainsFunc(check.Installation(f), func(l check.Line) bool { return l.Name == "Argo CD's Redis" })
		if told == without {
			t.Errorf("without it: %t, told: %t", without, told)
		}
	}
}
