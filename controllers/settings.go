package controllers

import (
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/config"

	"github.com/towline-io/towline/controllers/internal/home"
)

// cachePatience is how long a controller may take to hear of all that the hub has at a start. After it the process ends, and the next
// one begins anew. The default of controller-runtime, two minutes, was not enough where 100,000 Applications did not fit into
// GOMEMLIMIT: no process came to send anything.
const cachePatience = 15 * time.Minute

// Settings are what every controller of a manager has in common.
func Settings() config.Controller {
	return config.Controller{
		CacheSyncTimeout: cachePatience,
		// The priority queue of controller-runtime 0.23.3 can block for ever when it is shut down while it hands
		// over an item: the manager then ends only after its grace period, with an error. What it is for is not
		// missed: no controller is woken by a resync, so the only backlog is that of a start, which is worked off at
		// thousands of Applications per second.
		UsePriorityQueue: ptr.To(false),
	}
}

// NamespaceOfHub stands for the Application's namespace on the hub in one of Options.AppNamespaces.
const NamespaceOfHub = home.OfHub

// IsAppNamespace tells whether that may be one of Options.AppNamespaces.
func IsAppNamespace(namespace string) bool { return home.Valid(namespace) }
