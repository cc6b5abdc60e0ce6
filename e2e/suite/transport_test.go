package suite

import (
	"flag"

	. "github.com/onsi/ginkgo/v2"

	"github.com/towline-io/towline/e2e/fleet"
)

var transport = flag.String("towline.transport", fleet.TransportHub,
	"where the ManifestWorks are: hub (in the hub's etcd) or maestro (in Maestro, served by towline-maestro)")

var (
	// inMaestro marks specs of what works in Maestro are about, which run on a fleet with Maestro only.
	inMaestro = Label("maestro")

	// inEtcd marks specs that need the ManifestWorks in the hub's etcd. docs/maestro-internals.md says why, one by one.
	inEtcd = Label("etcd")
)
