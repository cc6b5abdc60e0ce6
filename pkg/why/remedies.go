package why

import (
	"maps"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/delivery"
)

// reasonNoLabel is the reason of an Application without Towline's label.
const reasonNoLabel = "NotLabelled"

// remedy is the link blocked by a reason, the responsible person, and the command.
type remedy struct {
	link  string
	state State
	who   string
	do    string
}

// People who can change the state.
const (
	author   = "the author of the Application, or of its ApplicationSet's template"
	admin    = "an administrator of the hub"
	projects = "who owns AppProject PROJECT"
	operator = "an administrator of cluster CLUSTER"
)

// Commands. Towline replaces names in capital letters.
const (
	edit       = "kubectl -n NAMESPACE edit applications.argoproj.io APP"
	show       = "kubectl -n NAMESPACE get applications.argoproj.io APP -o yaml"
	cluster    = "kubectl get managedcluster CLUSTER -o yaml"
	bindings   = "kubectl -n NAMESPACE get managedclustersetbindings,placementdecisions"
	project    = "kubectl get appprojects.argoproj.io -A --field-selector metadata.name=PROJECT -o yaml"
	works      = "kubectl -n CLUSTER get manifestworks"
	placements = "kubectl -n NAMESPACE describe placement PLACEMENT"
	applicants = "kubectl get applications.argoproj.io -A --field-selector metadata.name=APP"
)

// remedies has the remedy for each reason of a blocked or waiting Application.
var remedies = map[string]remedy{
	reasonNoLabel: {LinkKeys, Blocked, author, "kubectl -n NAMESPACE label applications.argoproj.io APP " + apis.LabelPull + "=true"},

	apis.ReasonClusterAnnotationMissing: {LinkKeys, Blocked, author,
		"kubectl -n NAMESPACE annotate applications.argoproj.io APP " + apis.AnnotationCluster + "=…"},
	apis.ReasonClusterNameInvalid: {LinkKeys, Blocked, author, edit},
	apis.ReasonSkipReconcileMissing: {LinkKeys, Blocked, author,
		"kubectl -n NAMESPACE annotate applications.argoproj.io APP argocd.argoproj.io/skip-reconcile=true"},
	apis.ReasonNamespaceInvalid:  {LinkKeys, Blocked, author, edit},
	apis.ReasonAnnotationInvalid: {LinkKeys, Blocked, author, edit},
	apis.ReasonSpecInvalid:       {LinkKeys, Blocked, author, edit},
	apis.ReasonSourceUnsupported: {LinkKeys, Blocked, author, edit},
	apis.ReasonOperationInvalid:  {LinkKeys, Blocked, author, show},
	apis.ReasonPayloadTooLarge:   {LinkKeys, Blocked, author, show},

	apis.ReasonClusterForbidden:     {LinkRights, Blocked, admin, bindings},
	apis.ReasonNamespaceForbidden:   {LinkRights, Blocked, admin, show},
	apis.ReasonProjectNotFound:      {LinkRights, Blocked, author, project},
	apis.ReasonProjectForbidden:     {LinkRights, Blocked, projects, project},
	apis.ReasonSourceForbidden:      {LinkRights, Blocked, projects, project},
	apis.ReasonManifestsForbidden:   {LinkRights, Blocked, author, show},
	apis.ReasonDestinationForbidden: {LinkRights, Blocked, projects, project},
	apis.ReasonRevoked:              {LinkRights, Blocked, admin, bindings},
	apis.ReasonRevocationHeld:       {LinkRights, Blocked, admin, bindings},
	apis.ReasonExecutorInvalid:      {LinkRights, Blocked, projects, project},

	apis.ReasonClusterNotFound:         {LinkTarget, Blocked, admin, "kubectl get managedclusters"},
	apis.ReasonClusterNotAccepted:      {LinkTarget, Blocked, admin, "clusteradm accept --clusters CLUSTER"},
	apis.ReasonClusterDeleting:         {LinkTarget, Blocked, admin, cluster},
	apis.ReasonClusterNamespaceMissing: {LinkTarget, Blocked, admin, "kubectl get namespace CLUSTER"},
	apis.ReasonLocalClusterConflict:    {LinkTarget, Blocked, author, edit},
	apis.ReasonTargetConflict:          {LinkTarget, Blocked, author, applicants},
	apis.ReasonWorkConflict:            {LinkTarget, Blocked, admin, works},
	apis.ReasonHubOperationRunning:     {LinkTarget, Blocked, author, edit},
	apis.ReasonDestinationConflict:     {LinkTarget, Blocked, author, edit},
	apis.ReasonAdoptionRefused:         {LinkTarget, Blocked, author, "kubectl towline adopt -n NAMESPACE APP"},
	apis.ReasonWorkRejected:            {LinkTarget, Blocked, admin, works},

	apis.ReasonPaused:    {LinkTarget, Blocked, "whoever paused it", ""}, // the command depends on the paused object, see ResumeCommand
	apis.ReasonMoving:    {LinkTarget, Waiting, "", show},
	apis.ReasonReleasing: {LinkTarget, Waiting, "", show},
	apis.ReasonReleased:  {LinkTarget, Blocked, author, edit},
	apis.ReasonDeleting:  {LinkTarget, Waiting, operator, show},

	apis.ReasonEditedAgain: {LinkTarget, Waiting, operator, show},

	apis.ReasonHeldInOutage: {LinkTarget, Waiting, operator, cluster},
	apis.ReasonOutageOver:   {LinkTarget, Waiting, "", show},
}

// byType has the remedies for Application conditions with a known type only.
var byType = map[string]remedy{
	apis.ConditionPropagationError:          {LinkTarget, Blocked, author, show},
	apis.ConditionPropagationForbiddenError: {LinkRights, Blocked, admin, bindings},
	apis.ConditionPausedWarning:             remedies[apis.ReasonPaused],
	apis.ConditionMoveWarning:               remedies[apis.ReasonMoving],
	apis.ConditionReleaseWarning:            remedies[apis.ReasonReleasing],
	apis.ConditionDeletionWarning:           remedies[apis.ReasonDeleting],
	apis.ConditionEditedWarning:             remedies[apis.ReasonEditedAgain],
	apis.ConditionPlacementWarning:          {LinkKeys, Blocked, "who owns the Placement", placements},
	apis.ConditionDependencyError:           {LinkDependencies, Blocked, author, show},
}

func remedyOf(c delivery.Condition) remedy {
	if r, ok := remedies[c.Reason]; ok {
		return r
	}
	return byType[c.Type]
}

// Reasons returns all reasons of a blocked or waiting Application, sorted.
func Reasons() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(remedies)), func(r string) bool { return r == reasonNoLabel })
}
