package propagation

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// executor is the ServiceAccount of the cluster whose rights the work agent is to need for the Application: that of its
// AppProject, or the hub's; the zero value for none. It returns a Problem when what the project says is no name.
func (r *Reconciler) executor(ctx context.Context, app *argocd.Application) (types.NamespacedName, error) {
	project, err := r.Grants.Project(ctx, app.Project())
	if err != nil || project == nil || project.Annotations[apis.AnnotationExecutor] == "" {
		return r.Executor, err
	}
	named, err := authorization.ParseServiceAccount(project.Annotations[apis.AnnotationExecutor])
	if err != nil {
		return types.NamespacedName{}, problemf(apis.ReasonExecutorInvalid, "AppProject %s/%s, annotation %s: %s",
			project.Namespace, project.Name, apis.AnnotationExecutor, err)
	}
	return named, nil
}
