package dependency

import (
	"encoding/json"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// impersonates reports whether Argo CD deploys with the rights of ServiceAccounts of the AppProject (Argo CD 2.13 and
// later). An unreadable project counts as true.
func impersonates(p *argocd.AppProject) bool {
	var spec struct {
		Accounts []json.RawMessage `json:"destinationServiceAccounts"`
	}
	if len(p.Spec.Raw) == 0 {
		return false
	}
	return json.Unmarshal(p.Spec.Raw, &spec) != nil || len(spec.Accounts) > 0
}

// bypasses reports whether the objects of an Application would bypass the ServiceAccounts of its AppProject. The work
// agent applies the objects with its own rights, unless the work has an executor.
func (d *decision) bypasses() bool {
	return d.Project != nil && d.Executor.Name == "" && impersonates(d.Project)
}

// bypass returns a problem that tells how to send the objects within the rights of the AppProject.
func (d *decision) bypass() problem {
	return about(d.Project, problemf(apis.ReasonDependencyForbidden,
		"AppProject %s/%s limits deployments to the rights of its spec.destinationServiceAccounts, which do not hold for the objects in the "+
			"annotation %s: set the annotation %s on the AppProject, or Towline's flag --work-executor-service-account, "+
			"to the ServiceAccount whose rights the objects need, or deploy them from Git",
		d.Project.Namespace, d.Project.Name, apis.AnnotationWith, apis.AnnotationExecutor))
}
