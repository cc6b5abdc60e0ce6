package delivery

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/source"
)

// checkSources blocks an Application whose sources cannot come through the hub.
func checkSources(v *view) block {
	if v.App.SourceAddress == "" {
		return pass
	}
	if why := source.Unsupported(v.App.Spec.Raw); why != "" {
		return blockf("%s. To read from the servers instead, set the annotation %s to %q", why, apis.AnnotationSource, apis.SourceDirect)
	}
	if why := badSourceAddress(v.App.SourceAddress); why != "" {
		return blockf("annotation %s of Namespace %s: %s", apis.AnnotationSourceAddress, v.App.Cluster(), why)
	}
	return pass
}

// badSourceAddress returns why an address cannot be the address of an agent; empty for a usable address.
func badSourceAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Sprintf("%.80q is not an address like %s", address, apis.DefaultSourceAddress)
	}
	return ""
}

// foreignSource returns why the sources of the requested operation cannot come through the hub; empty for possible
// sources. The hub serves the repositories in the spec, and, for a rollback, in the shown history.
func foreignSource(app *argocd.Application) string {
	if app.SourceAddress == "" {
		return ""
	}
	if why := source.Unsupported(source.Sync(app.Operation.Raw)); why != "" {
		return "the requested operation is not sent, and can be terminated: " + why
	}
	known := source.KnownOf(app)
	for _, repo := range source.OfOperation(app.Operation.Raw) {
		if !slices.Contains(known, repo) {
			return fmt.Sprintf("the requested operation is not sent, and can be terminated: the cluster reads through the hub only repositories in the "+
				"spec or in the history, and the operation names %.200q: set repoURL in the spec", repo)
		}
	}
	return ""
}
