package fleet

import "context"

const commitServer = "argocd-commit-server"

// startCommitServer runs the part of Argo CD that commits what the source hydrator rendered. Its certificates and its
// cluster's rights are none: the application controller brings all that it needs with each request.
func (p *plane) startCommitServer(ctx context.Context) error {
	addresses, err := p.addresses(commitServer, commitServer+"-metrics")
	if err != nil {
		return err
	}
	return p.startArgo(ctx, commitServer, "", httpProbe("http://"+addresses[1]+"/healthz"),
		"--address=127.0.0.1", "--port="+portOf(addresses[0]),
		"--metrics-address=127.0.0.1", "--metrics-port="+portOf(addresses[1]))
}

// StartCommitServer runs Argo CD's commit server, without which Applications with spec.sourceHydrator are not hydrated. A fleet
// starts none, as Argo CD's own manifests do. StopCommitServer ends it.
func (c *Cluster) StartCommitServer(ctx context.Context) error {
	return c.fleet.control.act(ctx, actCommits, c.name, "")
}

// StopCommitServer ends what StartCommitServer started.
func (c *Cluster) StopCommitServer(ctx context.Context) error {
	return c.StopProcess(ctx, commitServer)
}
