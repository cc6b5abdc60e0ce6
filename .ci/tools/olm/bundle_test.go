package main

import (
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
)

// validators are those of the Operator Lifecycle Manager's code, without those that need the image.
var validators = validator.Validators{
	validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator,
	validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
	validation.ObjectValidator, validation.GoodPracticesValidator,
}

// TestBundle: the Operator Lifecycle Manager takes deploy/bundle.
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
