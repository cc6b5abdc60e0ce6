package controllers

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/config"

	"github.com/towline-io/towline/controllers/internal/settings"
)

// cachePatience limits the initial sync of a controller's caches. After this time the process ends, and the next
// process starts from the beginning. The default of controller-runtime, two minutes, was not enough for 100,000
// Applications that did not fit into GOMEMLIMIT: every process ended before its first write.
const cachePatience = 15 * time.Minute

// Settings returns the common settings of all controllers of a manager.
func Settings() config.Controller {
	return config.Controller{CacheSyncTimeout: cachePatience}
}

// NamespaceOfHub is a value in Options.AppNamespaces. The value means the Application's namespace on the hub.
const NamespaceOfHub = settings.HubNamespace

// IsAppNamespace reports whether namespace is a valid value in Options.AppNamespaces.
func IsAppNamespace(namespace string) bool { return settings.ValidNamespace(namespace) }
