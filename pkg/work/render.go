package work

import (
	"crypto/sha1" //nolint:gosec // names an ApplicationSet; it protects nothing
	"encoding/hex"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/source"
)

// MaxPayload is the maximum size in bytes of the manifests in one ManifestWork: the default of OCM's webhook (v1.2.0,
// pkg/work/webhook). The limit applies on a hub without the webhook as well.
const MaxPayload = 500 * 1024

// TooLargeError is the error for an Application that does not fit into a ManifestWork.
type TooLargeError struct {
	// Size is the size of the manifest in bytes.
	Size int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the Application has %d bytes as a manifest and a ManifestWork holds %d", e.Size, MaxPayload)
}

// Requests are the requests of a user to the cluster's Argo CD through the hub Application, as stored in the work.
type Requests struct {
	relay.Stored

	// Sources are the names of the repositories that the last operation may read through the hub, besides the
	// repositories in the spec.
	Sources []string

	// Volatile requests the fields that the cluster's Argo CD writes with every comparison; see
	// feedback.VolatileRule.
	Volatile bool

	// Details requests the values that most Applications lack; see feedback.DetailRule.
	Details bool

	// Watched is true if the work agent watches the Application because of another work; see WatchPlace.
	Watched bool
}

// Render returns the ManifestWork that carries an Application, and requests, to its cluster. For an Application that
// does not fit, the error is a TooLargeError. The error is different for a spec or destination that is not a JSON
// object.
func Render(app *argocd.Application, requests Requests) (*workv1.ManifestWork, error) {
	raw, err := payload.Render(app, Name(app), requests.Refresh)
	if err != nil {
		return nil, err
	}
	manifest := workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}}
	if size := manifest.Size(); size > MaxPayload {
		return nil, &TooLargeError{Size: size}
	}
	key := Key(app)
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Name:        key.Name,
			Namespace:   key.Namespace,
			Labels:      labels(app),
			Annotations: annotations(app, requests),
		},
		Spec: workv1.ManifestWorkSpec{
			Workload:        workv1.ManifestsTemplate{Manifests: []workv1.Manifest{manifest}},
			ManifestConfigs: []workv1.ManifestConfigOption{config(app, requests)},
		},
	}, nil
}

func labels(app *argocd.Application) map[string]string {
	out := map[string]string{apis.LabelPull: "true"}
	if set, ok := app.ApplicationSet(); ok {
		out[apis.LabelApplicationSet] = "true"
		out[apis.LabelApplicationSetHash] = SetHash(types.NamespacedName{Namespace: app.Namespace, Name: set})
	}
	return out
}

// SetHash returns the value of LabelApplicationSetHash for an ApplicationSet.
func SetHash(set types.NamespacedName) string {
	sum := sha1.Sum([]byte(set.String())) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

func annotations(app *argocd.Application, requests Requests) map[string]string {
	out := map[string]string{
		apis.AnnotationHubNamespace: app.Namespace,
		apis.AnnotationHubName:      app.Name,
		apis.AnnotationUpdateMode:   modes[ForceApply],
	}
	if set, ok := app.ApplicationSet(); ok {
		out[apis.AnnotationApplicationSet] = app.Namespace + "/" + set
	}
	if app.SourceAddress != "" {
		out[apis.AnnotationSources] = source.WriteNames(app.Project(), source.Addresses(app.Spec.Raw), requests.Sources...)
	}
	if sent := requests.Refresh.String(); sent != "" {
		out[apis.AnnotationRefreshSent] = sent
	}
	if last := requests.Last.String(); last != "" {
		out[apis.AnnotationRequestSent] = last
	}
	if requests.Uncompared {
		out[apis.AnnotationChangedAt] = strings.TrimSpace(apis.ChangedUncompared + " " + requests.ChangedAt)
	} else if requests.ChangedAt != "" {
		out[apis.AnnotationChangedAt] = requests.ChangedAt
	}
	return out
}

// config returns how the work agent applies the Application and what status the agent reports.
func config(app *argocd.Application, requests Requests) workv1.ManifestConfigOption {
	rules := feedback.Rules(argocd.SourceCount(app.Spec.Raw))
	if argocd.Hydrates(app.Spec.Raw) {
		rules = append(rules, feedback.HydrationRule())
	}
	if requests.Details {
		rules = append(rules, feedback.DetailRule())
	}
	if requests.Volatile {
		rules = append(rules, feedback.VolatileRule())
	}
	scrape := workv1.FeedbackWatchType
	if requests.Watched {
		scrape = workv1.FeedbackPollType
	}
	return workv1.ManifestConfigOption{
		ResourceIdentifier: Identifier(app),
		FeedbackRules:      rules,
		ConditionRules:     feedback.ConditionRules(),
		FeedbackScrapeType: scrape,
		UpdateStrategy:     strategyFor(requests),
	}
}

// Identifier returns the Application on its cluster as a resource in a ManifestWork.
func Identifier(app *argocd.Application) workv1.ResourceIdentifier {
	return workv1.ResourceIdentifier{
		Group:     argocd.GroupVersion.Group,
		Resource:  argocd.Resource,
		Name:      app.Name,
		Namespace: app.ClusterNamespace(),
	}
}
