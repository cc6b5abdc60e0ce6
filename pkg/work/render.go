package work

import (
	"crypto/sha1" //nolint:gosec // names an ApplicationSet, as older controllers do; it protects nothing
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
	"github.com/towline-io/towline/pkg/relay"
)

// MaxPayload is how many bytes the manifests of one ManifestWork may have: the default of OCM's webhook
// (v1.2.0, pkg/work/webhook), which a hub without the webhook is held to as well.
const MaxPayload = 500 * 1024

// TooLargeError says that an Application does not fit into a ManifestWork.
type TooLargeError struct {
	// Size is what the manifest comes to, in bytes.
	Size int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the Application has %d bytes as a manifest and a ManifestWork holds %d", e.Size, MaxPayload)
}

// Requests are what someone asks of the cluster's Argo CD through the hub Application, as the work remembers it.
type Requests struct {
	// Refresh is a refresh that is on its way. The Application carries it.
	Refresh relay.Refresh

	// Last is the last operation or termination that the work carried.
	Last relay.Sent

	// Volatile is set while somebody waits for what the cluster's Argo CD writes with every comparison; see
	// feedback.VolatileRule.
	Volatile bool

	// ChangedAt is the revision that AnnotationChangedAt has; empty for none. Uncompared is set while the cluster has not compared
	// what the Application deploys now.
	ChangedAt  string
	Uncompared bool
}

// Render is the ManifestWork that carries an Application, and requests, to its cluster. It returns a TooLargeError
// for an Application that does not fit, and another error for a spec or destination that is no JSON object.
func Render(app *argocd.Application, requests Requests) (*workv1.ManifestWork, error) {
	raw, err := payload(app, requests)
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

// SetHash is by what the works of an ApplicationSet's Applications are labelled.
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

// config tells the work agent how to apply the Application and what to report of it.
func config(app *argocd.Application, requests Requests) workv1.ManifestConfigOption {
	rules := feedback.Rules(argocd.SourceCount(app.Spec.Raw))
	if argocd.Hydrates(app.Spec.Raw) {
		rules = append(rules, feedback.HydrationRule())
	}
	if requests.Volatile {
		rules = append(rules, feedback.VolatileRule())
	}
	return workv1.ManifestConfigOption{
		ResourceIdentifier: Identifier(app),
		FeedbackRules:      rules,
		ConditionRules:     feedback.ComparedRules(),
		FeedbackScrapeType: workv1.FeedbackWatchType,
		UpdateStrategy:     strategyFor(requests),
	}
}

// Identifier names the Application on its cluster in the terms of a ManifestWork.
func Identifier(app *argocd.Application) workv1.ResourceIdentifier {
	return workv1.ResourceIdentifier{
		Group:     argocd.GroupVersion.Group,
		Resource:  argocd.Resource,
		Name:      app.Name,
		Namespace: app.ClusterNamespace(),
	}
}
