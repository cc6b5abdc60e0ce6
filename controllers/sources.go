package controllers

import (
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// sources are where the facts of the inventory come from, the richest first. A hub without the CRD of
// ApplicationReports has no agents' reports, and everything else works.
func sources(mgr ctrl.Manager) ([]resourcesync.Source, error) {
	var out []resourcesync.Source
	kind := v1alpha1.GroupVersion.WithKind("ApplicationReport")
	switch _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); {
	case err == nil:
		out = append(out, &resourcesync.Agent{Client: mgr.GetClient(), Cache: mgr.GetCache()})
	case meta.IsNoMatchError(err):
		ctrl.Log.Info("The hub has no CRD for ApplicationReports: what agents on the clusters would report is not looked for until a restart")
	default:
		return nil, err
	}
	return append(out, &resourcesync.Feedback{Client: mgr.GetClient(), Cache: mgr.GetCache()}), nil
}
