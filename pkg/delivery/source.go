package delivery

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/source"
)

// withSourceAddress returns the Application with the address at which the target cluster reads repositories through the
// hub, or the Application itself if the cluster reads from the Git servers. The annotation of the Application has
// priority over the label of the ManagedCluster.
func withSourceAddress(app *argocd.Application, clusters map[string]managedcluster.Facts) *argocd.Application {
	if app == nil {
		return nil
	}
	cluster := clusters[app.Cluster()]
	through := cluster.SourceHub
	if choice := app.Annotations[apis.AnnotationSource]; choice != "" {
		through = choice == apis.SourceHub
	}
	if !through {
		return app
	}
	out := *app
	out.SourceAddress = cmp.Or(cluster.SourceAddress, apis.DefaultSourceAddress)
	return &out
}

// checkSources blocks an Application whose sources cannot come through the hub.
func checkSources(v *view) verdict {
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
