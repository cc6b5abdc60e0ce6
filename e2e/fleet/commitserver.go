package fleet

import "context"

const commitServer = "argocd-commit-server"

// startCommitServer runs the Argo CD component that commits the source hydrator's output. The component has no
// certificates and no rights on the cluster: the application controller sends all necessary data with each request.
func (p *plane) startCommitServer(ctx context.Context) error {
	addresses, err := p.addresses(commitServer, commitServer+"-metrics")
	if err != nil {
		return err
	}
	return p.startArgo(ctx, commitServer, "", httpProbe("http://"+addresses[1]+"/healthz"),
		"--address=127.0.0.1", "--port="+portOf(addresses[0]),
		"--metrics-address=127.0.0.1", "--metrics-port="+portOf(addresses[1]))
}

// StartCommitServer runs Argo CD's commit server. Without the commit server, Applications with spec.sourceHydrator are
// not hydrated. A fleet starts none, like Argo CD's own manifests. StopCommitServer ends the commit server.
func (c *Cluster) StartCommitServer(ctx context.Context) error {
	return c.fleet.control.act(ctx, actCommits, c.name, "")
}

// StopCommitServer ends the commit server of StartCommitServer.
func (c *Cluster) StopCommitServer(ctx context.Context) error {
	return c.StopProcess(ctx, commitServer)
}
