package main

import (
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

// TestBundle: the validators of the Operator Lifecycle Manager find no error in deploy/bundle.
func TestBundle(t *testing.T) {
	bundle, err := manifests.GetBundleFromDir("../../../deploy/bundle/manifests")
	if err != nil {
		t.Fatal(err)
	}
	if bundle.CSV == nil || len(bundle.V1CRDs) == 0 {
		t.Fatal("there is no ClusterServiceVersion, or no CustomResourceDefinition")
	}
	for _, r := range validators.Validate(append(bundle.ObjectsToValidate(), bundle)...) {
		for _, e := range r.Errors {
			t.Errorf("%s: %s", r.Name, e.Error())
		}
		for _, e := range r.Warnings {
			t.Logf("%s: %s", r.Name, e.Error())
		}
	}
}

// TestRolesStayRoles: the bundle supports only the install mode OwnNamespace. For an operator of all namespaces, the
// Operator Lifecycle Manager converts Roles to ClusterRoles. With Towline's Roles as ClusterRoles, Towline could read
// the Secrets of the whole hub.
func TestRolesStayRoles(t *testing.T) {
	bundle, err := manifests.GetBundleFromDir("../../../deploy/bundle/manifests")
	if err != nil {
		t.Fatal(err)
	}
	if len(bundle.CSV.Spec.InstallStrategy.StrategySpec.Permissions) == 0 {
		t.Fatal("there is no Role")
	}
	for _, m := range bundle.CSV.Spec.InstallModes {
		if want := m.Type == operatorsv1alpha1.InstallModeTypeOwnNamespace; m.Supported != want {
			t.Errorf("%s is supported: %t", m.Type, m.Supported)
		}
	}
}
