package suite

import (
	"context"
	"flag"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/clusterimport"
)

// profileOCM is the chart's profile for a hub of Open Cluster Management alone.
const profileOCM = "ocm"

// profileACM is the chart's profile for a hub of Advanced Cluster Management. Its GitOpsCluster controller makes the
// cluster Secrets.
const profileACM = "acm"

// oldACM stands for a hub of Advanced Cluster Management 2.8 to 2.16 with a disabled component app-lifecycle. Towline
// takes over the GitOpsClusters there.
const oldACM = "acm-without-app-lifecycle"

var profile = flag.String("towline.profile", profileOCM,
	"the hub, and the chart's profile that Towline is installed with: ocm, acm, or acm-without-app-lifecycle with the values for such a hub")

// imports marks specs that need Towline's rights to make cluster Secrets. The profile acm has none of these rights.
var imports = Label("imports")

// usesRights marks specs that together use every right of the profile acm.
var usesRights = Label("rights")

// acmSpecs is the label filter of `make e2e-acm`.
const acmSpecs = "rights && !long && !imports"

// rare are rights that the specs of `make e2e-acm` do not always use, each with the reason. The profile ocm has the
// same rule, and `make e2e` checks the use of each right with the profile ocm.
var rare = map[string]string{
	"patch events.events.k8s.io": "asked when an event comes again while its object is the same version",
}

// chartValues returns the values with which the suite installs Towline's chart.
func chartValues() []string {
	if *profile == oldACM {
		return []string{"dependencies.objects=true", "crds.enabled=own", "gitOpsCluster.takeOver=true"}
	}
	return []string{"dependencies.objects=true", "profile=" + *profile}
}

// waitImported waits until the hub's Argo CD knows the clusters of example/hub.
func waitImported(ctx context.Context) {
	GinkgoHelper()
	if *profile == profileACM {
		Eventually(ctx, gitOpsPhase).Should(Equal("successful"))
		return
	}
	Expect(towline.WaitImported(ctx, f)).To(Succeed())
}

// generatorConfig returns the name of the ConfigMap by which generators read placements.
func generatorConfig() string {
	if *profile == profileACM {
		return clusterimport.GeneratorConfigACM
	}
	return clusterimport.GeneratorConfig
}
