package suite

import (
	"flag"

	. "github.com/onsi/ginkgo/v2"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/matrix"
)

var transport = flag.String("towline.transport", fleet.TransportHub,
	"where the ManifestWorks are: hub (in the hub's etcd) or maestro (in Maestro, served by towline-maestro)")

var (
	// inMaestro marks specs about works in Maestro. The specs run only on a fleet with Maestro.
	inMaestro = Label(matrix.MaestroLabel)

	// inEtcd marks specs that need the ManifestWorks in the hub's etcd. docs/maestro-internals.md gives the reason for
	// each spec.
	inEtcd = Label("etcd")
)
