package suite

import (
	"context"
	"flag"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
)

// profileACM is the chart's profile for a hub of Advanced Cluster Management, where another controller makes the cluster Secrets.
const profileACM = "acm"

var profile = flag.String("towline.profile", "ocm", "the chart's profile that Towline is installed with: ocm or acm")

// imports marks a spec of the rights by which Towline makes cluster Secrets. With the profile acm it has none of these.
var imports = Label("imports")

// usesRights marks specs that together use every right of the profile acm.
var usesRights = Label("rights")

// acmSpecs are the specs that `make e2e-acm` runs.
const acmSpecs = "rights && !long && !imports"

// rare are rights that the specs of `make e2e-acm` do not always use, each with the reason. `make e2e` sees them used with the
// profile ocm, which has the same rule.
var rare = map[string]string{
	"patch events.events.k8s.io": "asked when an event comes again while its object is the same version",
}

// chartValues are those that Towline is installed with.
func chartValues() []string {
	values := []string{"dependencies.objects=true", "profile=" + *profile}
	if *profile == profileACM {
		// Advanced Cluster Management brings the CRD of GitOpsClusters. It is Towline's own here.
		values = append(values, "crds.enabled=all")
	}
	return values
}

// importClusters makes the cluster Secrets under another account than Towline's, as the controllers of Advanced Cluster Management do.
func importClusters(ctx context.Context) {
	GinkgoHelper()
	kubeconfig, err := f.Hub.UserKubeconfig("multicluster-integrations", "system:masters")
	Expect(err).NotTo(HaveOccurred())
	ports, err := f.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	_, err = f.Run(ctx, fleet.Command{
		Name: "multicluster-integrations", Path: binary, Env: []string{"KUBECONFIG=" + kubeconfig}, Args: []string{
			"controller", "--controllers=gitopscluster", "--leader-elect=false", "--argocd-namespace=" + fleet.ArgoCDNamespace,
			"--metrics-bind-address=0", fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[0]),
		},
		Ready: fleet.HTTPReady(fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[0])),
	})
	Expect(err).NotTo(HaveOccurred())
}
