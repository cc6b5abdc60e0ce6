package apps_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

const deployed = "../../../deploy/crds"

// TestPublishedSchemasStayValid compares the installed CRDs with the published
// CRDs of existing hubs.
func TestPublishedSchemasStayValid(t *testing.T) {
	for _, resource := range []string{"gitopsclusters", "multiclusterapplicationsetreports"} {
		t.Run(resource, func(t *testing.T) {
			published := readCRD(t, filepath.Join("testdata/published", resource+".crd.yaml"))
			ours := readCRD(t, filepath.Join(deployed, "apps.open-cluster-management.io_"+resource+".yaml"))

			samePlace(t, published, ours)
			versions := versionsByName(ours)
			for name, version := range versionsByName(published) {
				is, found := versions[name]
				if !found {
					t.Errorf("version %s is gone", name)
					continue
				}
				sameVersion(t, name, version, is)
			}
		})
	}
}

// samePlace checks the group, the scope and the names of the API.
func samePlace(t *testing.T, published, ours node) {
	t.Helper()
	was, is := object(published["spec"]), object(ours["spec"])
	for _, field := range []string{"group", "scope"} {
		if was[field] != is[field] {
			t.Errorf("%s was %v and is %v", field, was[field], is[field])
		}
	}
	wasNames, isNames := object(was["names"]), object(is["names"])
	for _, field := range []string{"kind", "listKind", "plural", "singular"} {
		if wasNames[field] != isNames[field] {
			t.Errorf("names.%s was %v and is %v", field, wasNames[field], isNames[field])
		}
	}
	for _, short := range list(wasNames["shortNames"]) {
		if !slices.Contains(list(isNames["shortNames"]), short) {
			t.Errorf("the short name %v is gone", short)
		}
	}
}

// sameVersion checks the serving and the storage of a version. The schema must
// accept all objects of the published schema.
func sameVersion(t *testing.T, name string, published, ours node) {
	t.Helper()
	for _, field := range []string{"served", "storage"} {
		if published[field] != ours[field] {
			t.Errorf("%s: %s was %v and is %v", name, field, published[field], ours[field])
		}
	}
	// If the status becomes a subresource, or no longer is a subresource, the
	// API server drops the writes of existing clients.
	wasSub := object(object(published["subresources"])["status"]) != nil
	isSub := object(object(ours["subresources"])["status"]) != nil
	if wasSub != isSub {
		t.Errorf("%s: the status subresource was %t and is %t", name, wasSub, isSub)
	}
	for _, problem := range narrower(name, schemaOf(published), schemaOf(ours)) {
		t.Error(problem)
	}
}

func schemaOf(version node) node {
	return object(object(version["schema"])["openAPIV3Schema"])
}

func versionsByName(crd node) map[string]node {
	versions := map[string]node{}
	for _, version := range list(object(crd["spec"])["versions"]) {
		name, _ := object(version)["name"].(string)
		versions[name] = object(version)
	}
	return versions
}

func readCRD(t *testing.T, path string) node {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var crd node
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(versionsByName(crd)) == 0 {
		t.Fatalf("%s is not a CRD with versions", path)
	}
	return crd
}
