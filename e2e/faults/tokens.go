package faults

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
)

// account is the ManagedServiceAccount whose tokens the GitOpsClusters of points ask for.
const account = "argocd-manager"

// address is where an Argo CD that pushes would find the point's cluster: without one, no token is put into a Secret.
const address = `{"spec":{"managedClusterClientConfigs":[{"url":"https://POINT.example.com:6443"}]}}`

// What is said of the token, and of the GitOpsCluster that asks for it.
const (
	asksForToken = `{"spec":{"managedServiceAccountRef":"` + account + `"}}`
	asksForNone  = `{"spec":{"managedServiceAccountRef":null}}`
	firstToken   = `{"metadata":{"labels":{"` + apis.LabelServiceAccount + `":"true"}},"stringData":{"token":"first","ca.crt":"certificate"}}`
	secondToken  = `{"stringData":{"token":"second"}}`
)

// tokens are flows of the token of a ManagedServiceAccount, which a GitOpsCluster puts into the Secret of its cluster. The Secret with the
// token is made by the test: Open Cluster Management's add-on would bring it.
func tokens() []Flow {
	const token = "POINT/" + account
	reachable := steps(imports(), edits(managedClusters, "POINT", address))
	came := steps(reachable, finds(asksForToken), imported(apis.ReasonCredentialsMissing),
		makes(secrets, token, firstToken), configured("first"), imported(apis.ReasonImported))
	return []Flow{
		{Name: "token", Steps: []Step{came}},
		{Name: "token-rotated", Steps: []Step{came, edits(secrets, token, secondToken), configured("second")}},
		{Name: "token-not-asked-for", Steps: []Step{came, edits(gitOpsClusters, "POINT", asksForNone), configured("")}},
		{Name: "token-asked-for-late", Steps: []Step{
			reachable, finds(), configured(""), makes(secrets, token, firstToken), edits(gitOpsClusters, "POINT", asksForToken), configured("first"),
		}},
		{Name: "token-withdrawn", Steps: []Step{came, deletes(secrets, token), imported(apis.ReasonCredentialsMissing)}},
		{Name: "token-withdrawn-back", Steps: []Step{
			came, deletes(secrets, token), imported(apis.ReasonCredentialsMissing),
			makes(secrets, token, firstToken, secondToken), configured("second"), imported(apis.ReasonImported),
		}},
		{Name: "token-gitopscluster-deleted", Steps: []Step{came, deletes(gitOpsClusters, "POINT"), disappears(secrets, "POINT-cluster-secret")}},
	}
}

// configured waits until the Secret of the point's cluster has a token, or has none for an empty one.
func configured(token string) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		o, err := a.world.hub.look(ctx, secrets, a.id, a.text("POINT-cluster-secret"))
		if err != nil {
			return err
		}
		if o == nil {
			return fmt.Errorf("the hub has no Secret of the cluster")
		}
		var config struct{ BearerToken string }
		if err := json.Unmarshal([]byte(data(o)["config"]), &config); err != nil {
			return err
		}
		if config.BearerToken != token {
			return fmt.Errorf("the Secret of the cluster has the token %q, want %q", config.BearerToken, token)
		}
		return nil
	})
}

// imported waits until the GitOpsCluster says for a reason that its clusters are imported, or are not.
func imported(reason string) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		g, err := a.world.hub.find(ctx, gitOpsClusters, fleet.ArgoCDNamespace, a.id)
		if err != nil {
			return err
		}
		if reasonOf(g, apis.ConditionClustersImported) != reason {
			return fmt.Errorf("the GitOpsCluster does not say %s", reason)
		}
		return nil
	})
}
