package bench

import (
	"context"
	"net/http"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/scrape"
	"github.com/towline-io/towline/pkg/apis"
)

const worksResource = "manifestworks"

// cargo is a way to deliver an Application.
type cargo struct {
	// name is the prefix of the Applications' names and of the figures.
	name string

	// path is the API path on the hub where the delivering object is created. object returns this object.
	path   string
	object func(name string) object
}

// fivePaths are the feedback paths of the older controllers.
var fivePaths = []object{
	{"name": "healthStatus", "path": ".status.health.status"},
	{"name": "syncStatus", "path": ".status.sync.status"},
	{"name": "operationStateStartedAt", "path": ".status.operationState.startedAt"},
	{"name": "operationStatePhase", "path": ".status.operationState.phase"},
	{"name": "syncRevision", "path": ".status.sync.revision"},
}

// plain returns ManifestWorks in the form of the older controllers. The agent polls the Applications.
func (c *agentCost) plain() *cargo { return c.works("plain", workv1.FeedbackPollType) }

// watched returns plain works, of which the first makes the agent watch the Applications, as with Towline.
func (c *agentCost) watched() *cargo { return c.works("watched", workv1.FeedbackWatchType) }

// works returns ManifestWorks with five paths. The first work has the given feedbackScrapeType.
func (c *agentCost) works(kind string, first workv1.FeedbackScrapeType) *cargo {
	return &cargo{name: kind, path: worksOf(c.fleet.Clusters()[0].Name()), object: func(name string) object {
		scrape := workv1.FeedbackPollType
		if name == kind+"-0" {
			scrape = first
		}
		return object{
			"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
			"metadata": object{"name": name, "namespace": c.fleet.Clusters()[0].Name()},
			"spec": object{
				"workload": object{"manifests": []object{c.delivered(name)}},
				"manifestConfigs": []object{{
					"resourceIdentifier": object{
						"group": "argoproj.io", "resource": "applications", "name": name, "namespace": fleet.ArgoCDNamespace,
					},
					"feedbackRules":      []object{{"type": "JSONPaths", "jsonPaths": fivePaths}},
					"feedbackScrapeType": scrape,
					"updateStrategy":     object{"type": "ServerSideApply"},
				}},
			},
		}
	}}
}

// delivered returns the Application in a plain work.
func (c *agentCost) delivered(name string) object {
	return object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": object{
			"name": name, "namespace": fleet.ArgoCDNamespace, "labels": object{apis.LabelPulled: "true"}, "finalizers": c.finalizers(),
		},
		"spec": c.spec(),
	}
}

func (c *agentCost) spec() object {
	return object{
		"project":     "guestbook",
		"source":      object{"repoURL": c.fleet.Git.URL(fleet.AppsRepo), "targetRevision": "HEAD", "path": "guestbook"},
		"destination": object{"server": apis.InClusterServer, "namespace": "guestbook"},
	}
}

// towline returns Applications of the hub.
func (c *agentCost) towline() *cargo {
	return &cargo{name: "towline", path: applicationsPath, object: func(name string) object {
		return object{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
			"metadata": object{
				"name": name, "namespace": fleet.ArgoCDNamespace, "labels": object{apis.LabelPull: "true"},
				"annotations": object{apis.AnnotationCluster: c.fleet.Clusters()[0].Name(), apis.AnnotationSkipReconcile: "true"},
				"finalizers":  c.finalizers(),
			},
			"spec": c.spec(),
		}
	}}
}

// requestsTo returns the requests to an API server.
func (c *agentCost) requestsTo(ctx context.Context, client *http.Client, server string) (counts, error) {
	metrics, err := scrape.Metrics(ctx, client, server+"/metrics")
	return families{metrics}.requests(), err
}

// finalizers returns the finalizers of each Application.
func (c *agentCost) finalizers() []string {
	if c.WorkloadStays {
		return []string{}
	}
	return []string{apis.FinalizerResources}
}
