package controllers_test

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// impersonating is a client of someone with all rights and that name.
func impersonating(t *testing.T, user string) client.Client {
	t.Helper()
	as := rest.CopyConfig(hub)
	as.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	c, err := client.New(as, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// applyPolicy puts the objects of a file of deploy/admission on the hub until the test ends.
func applyPolicy(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile("../deploy/admission/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &obj.Object); err != nil {
			t.Fatal(err)
		}
		create(t, obj)
		t.Cleanup(func() { _ = k8s.Delete(t.Context(), obj) })
	}
}

func makeApplication(t *testing.T, namespace string) *argocd.Application {
	t.Helper()
	app := &argocd.Application{}
	app.Namespace, app.Name = namespace, unique("operation")
	app.Spec.Raw = []byte(specOf("default", "https://x"))
	create(t, app)
	return app
}

// TestWhatTowlinesTokenMayDoToAnOperation: identify one, and take one off. An operation deploys whatever it names.
func TestWhatTowlinesTokenMayDoToAnOperation(t *testing.T) {
	applyPolicy(t, "applications.yaml")
	towline := impersonating(t, "system:serviceaccount:argocd:towline-controller")
	const (
		user     = `{"name":"reason","value":"because"}`
		identity = `{"name":"apps.open-cluster-management.io/request","value":"1-a"}`
		sync     = `{"initiatedBy":{"username":"admin"},"sync":{"revision":"main"},"info":[` + user + `]}`
	)
	ns := namespace(t, unique("apps"))
	try := func(app *argocd.Application, operation string) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"operation":`+operation+`}`))
		return towline.Patch(t.Context(), app.DeepCopy(), patch, client.DryRunAll)
	}
	heeded := makeApplication(t, ns)
	NewWithT(t).Eventually(func() error { return try(heeded, `{"sync":{}}`) }, soon, tick).Should(HaveOccurred(), "the policy is not heeded")
	for title, tc := range map[string]struct {
		before, operation string
		denied            bool
	}{
		"a new one":                     {operation: `{"sync":{}}`, denied: true},
		"a new one without anything":    {operation: `{}`, denied: true},
		"another source":                {before: sync, operation: `{"sync":{"source":{"repoURL":"https://x"}}}`, denied: true},
		"another revision":              {before: sync, operation: `{"sync":{"revision":"other"}}`, denied: true},
		"pruning":                       {before: sync, operation: `{"sync":{"prune":true}}`, denied: true},
		"a retry":                       {before: sync, operation: `{"retry":{"limit":9}}`, denied: true},
		"in the name of somebody else":  {before: sync, operation: `{"initiatedBy":{"username":"other"}}`, denied: true},
		"in nobody's name":              {before: sync, operation: `{"initiatedBy":null}`, denied: true},
		"without what somebody said":    {before: sync, operation: `{"info":[` + identity + `]}`, denied: true},
		"with what nobody said":         {before: sync, operation: `{"info":[` + user + `,{"name":"reason","value":"none"}]}`, denied: true},
		"an identity":                   {before: sync, operation: `{"info":[` + user + `,` + identity + `]}`},
		"an identity where nothing was": {before: `{"sync":{}}`, operation: `{"info":[` + identity + `]}`},
		"its end":                       {before: sync, operation: `null`},
		"the same":                      {before: sync, operation: sync},
	} {
		t.Run(title, func(t *testing.T) {
			app := makeApplication(t, ns)
			if tc.before != "" {
				request(t, app, tc.before)
			}
			err := try(app, tc.operation)
			if !tc.denied && err != nil {
				t.Error(err)
			}
			if tc.denied && (err == nil || !strings.Contains(err.Error(), "of an Application's operation, Towline sets")) {
				t.Errorf("got %v", err)
			}
		})
	}
}
