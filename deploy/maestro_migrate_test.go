package deploy_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
)

// TestMaestroMigrations: each step of a migration is a Job with valid arguments for towline-maestro.
func TestMaestroMigrations(t *testing.T) {
	for folder, want := range map[string]string{
		"to-maestro": "migrate copy --to=maestro", "to-hub": "migrate copy --to=hub", "clean": "migrate clean",
	} {
		t.Run(folder, func(t *testing.T) {
			job := objectOf[batchv1.Job](t, maestroObjects(t, "migrate/"+folder), "Job argocd/towline-maestro-migrate")
			args := job.Spec.Template.Spec.Containers[0].Args
			if !strings.HasPrefix(strings.Join(args, " "), want+" --maestro-url=") {
				t.Errorf("the arguments are %v", args)
			}
			if err := checkTowlineMaestro(args); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMaestroHasNoAPIService: deploy/maestro has no APIService. So the hub's own ManifestWorks stay in use after the
// installation.
func TestMaestroHasNoAPIService(t *testing.T) {
	for name := range maestroObjects(t, "") {
		if strings.HasPrefix(name, "APIService ") {
			t.Errorf("deploy/maestro has %s", name)
		}
	}
}
