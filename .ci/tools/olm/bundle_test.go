package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
)

// validators are the checks of the Operator Lifecycle Manager's code, without the checks of the image.
var validators = validator.Validators{
	validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator,
	validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
	validation.ObjectValidator, validation.GoodPracticesValidator,
}

// bundles are the folders of the bundles in deploy.
var bundles = []string{"bundle", "bundle-source"}

// bundleIn returns a bundle. A bundle without a ClusterServiceVersion fails the test.
func bundleIn(t *testing.T, folder string) *manifests.Bundle {
	t.Helper()
	bundle, err := manifests.GetBundleFromDir(filepath.Join("../../../deploy", folder, "manifests"))
	if err != nil {
		t.Fatal(err)
	}
	if bundle.CSV == nil {
		t.Fatalf("%s has no ClusterServiceVersion", folder)
	}
	return bundle
}

// TestBundle: the validators of the Operator Lifecycle Manager find no error in the bundles.
func TestBundle(t *testing.T) {
	for _, folder := range bundles {
		bundle := bundleIn(t, folder)
		if len(bundle.V1CRDs) == 0 && len(bundle.CSV.Spec.APIServiceDefinitions.Owned) == 0 {
			t.Errorf("%s has no CustomResourceDefinition and no APIService", folder)
		}
		for _, r := range validators.Validate(append(bundle.ObjectsToValidate(), bundle)...) {
			for _, e := range r.Errors {
				t.Errorf("%s, %s: %s", folder, r.Name, e.Error())
			}
			for _, e := range r.Warnings {
				t.Logf("%s, %s: %s", folder, r.Name, e.Error())
			}
		}
	}
}

// TestSourceAnswers: the Operator Lifecycle Manager makes an APIService for the Deployment of towline-source. towline-source
// listens on the port of the APIService, and reads the certificate from the folder in which the Operator Lifecycle Manager
// mounts the certificate.
func TestSourceAnswers(t *testing.T) {
	csv := bundleIn(t, "bundle-source").CSV
	api, deployment := csv.Spec.APIServiceDefinitions.Owned[0], csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]
	if api.DeploymentName != deployment.Name {
		t.Errorf("the APIService is of %s, and the Deployment is %s", api.DeploymentName, deployment.Name)
	}
	const mounted = "/apiserver.local.config/certificates/apiserver"
	args := deployment.Spec.Template.Spec.Containers[0].Args
	for _, want := range []string{
		fmt.Sprintf("--secure-port=%d", api.ContainerPort), "--tls-cert-file=" + mounted + ".crt", "--tls-private-key-file=" + mounted + ".key",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is not in %v", want, args)
		}
	}
}

// TestRolesStayRoles: the bundles support only the install mode OwnNamespace. For an operator of all namespaces, the
// Operator Lifecycle Manager converts Roles to ClusterRoles. With Towline's Roles as ClusterRoles, Towline could read
// the Secrets of the whole hub.
func TestRolesStayRoles(t *testing.T) {
	for _, folder := range bundles {
		csv := bundleIn(t, folder).CSV
		if len(csv.Spec.InstallStrategy.StrategySpec.Permissions) == 0 {
			t.Errorf("%s has no Role", folder)
		}
		for _, m := range csv.Spec.InstallModes {
			if want := m.Type == operatorsv1alpha1.InstallModeTypeOwnNamespace; m.Supported != want {
				t.Errorf("%s: %s is supported: %t", folder, m.Type, m.Supported)
			}
		}
	}
}
