package suite

import (
	"flag"

	"github.com/towline-io/towline/e2e/fleet"
)

var transport = flag.String("towline.transport", fleet.TransportHub,
	"where the ManifestWorks are: hub (in the hub's etcd) or maestro (in Maestro, served by towline-maestro)")
