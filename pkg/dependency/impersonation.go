package dependency

import (
	"encoding/json"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// impersonates tells whether an AppProject has Argo CD deploy with the rights of ServiceAccounts of its own (Argo CD 2.13 and
// later). So does a project that cannot be read.
func impersonates(p *argocd.AppProject) bool {
	var spec struct {
		Accounts []json.RawMessage `json:"destinationServiceAccounts"`
	}
	if len(p.Spec.Raw) == 0 {
		return false
	}
	return json.Unmarshal(p.Spec.Raw, &spec) != nil || len(spec.Accounts) > 0
}

// bypasses tells whether the objects that an Application names would get past the ServiceAccounts of its AppProject: the work agent
// applies them with its own rights, unless the work has an executor.
func (d *decision) bypasses() bool {
	return d.Project != nil && d.Executor.Name == "" && impersonates(d.Project)
}

// bypass says how to send the objects within the rights that the AppProject gives.
func (d *decision) bypass() problem {
	return about(d.Project, problemf(apis.ReasonDependencyForbidden,
		"AppProject %s/%s limits deployments to the rights of its spec.destinationServiceAccounts, which do not hold for the objects in the "+
			"annotation %s: set the annotation %s on the AppProject, or Towline's flag --work-executor-service-account, "+
			"to the ServiceAccount whose rights the objects need, or deploy them from Git",
		d.Project.Namespace, d.Project.Name, apis.AnnotationWith, apis.AnnotationExecutor))
}
