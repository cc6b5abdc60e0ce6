package faults

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
)

// account is the ManagedServiceAccount for the tokens of the points' GitOpsClusters.
const account = "argocd-manager"

// address is the address of the point's cluster for an Argo CD that pushes. Without an address, Towline puts no token
// into a Secret.
const address = `{"spec":{"managedClusterClientConfigs":[{"url":"https://POINT.example.com:6443"}]}}`

// Patches of the token and of its GitOpsCluster.
const (
	asksForToken = `{"spec":{"managedServiceAccountRef":"` + account + `"}}`
	asksForNone  = `{"spec":{"managedServiceAccountRef":null}}`
	firstToken   = `{"metadata":{"labels":{"` + apis.LabelServiceAccount + `":"true"}},"stringData":{"token":"first","ca.crt":"certificate"}}`
	secondToken  = `{"stringData":{"token":"second"}}`
)

// tokens are flows with the token of a ManagedServiceAccount. A GitOpsCluster copies the token into the Secret of its
// cluster. The test creates the Secret with the token, in the role of Open Cluster Management's add-on.
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

// configured waits until the Secret of the point's cluster has the token. Empty: no token.
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

// imported waits until the condition ClustersImported of the GitOpsCluster has the reason.
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
