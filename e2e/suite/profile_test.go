package suite

import (
	"context"
	"flag"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/clusterimport"
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
	return []string{"dependencies.objects=true", "profile=" + *profile}
}

// waitImported waits until the clusters of example/hub are known to the hub's Argo CD.
func waitImported(ctx context.Context) {
	GinkgoHelper()
	if *profile == profileACM {
		Eventually(ctx, gitOpsPhase).Should(Equal("successful"))
		return
	}
	Expect(towline.WaitImported(ctx, f)).To(Succeed())
}

// generatorConfig is the ConfigMap by which generators read placements.
func generatorConfig() string {
	if *profile == profileACM {
		return clusterimport.GeneratorConfigACM
	}
	return clusterimport.GeneratorConfig
}
