package fleet

import "context"

const (
	hubNamespace   = "open-cluster-management-hub"
	agentNamespace = "open-cluster-management-agent"
	workAccount    = "klusterlet-work-sa"
	joinAccount    = "klusterlet-registration-sa"
	addOnAccount   = "addon-manager-controller-sa"
	// agentID is the last part of an agent's name on the hub.
	agentID = "agent"
)

// startOCMController runs one of OCM's controllers on the hub.
func (p *plane) startOCMController(ctx context.Context, program string, more ...string) error {
	kubeconfig, err := p.componentKubeconfig(program + "-controller")
	if err != nil {
		return err
	}
	return p.startOCM(ctx, program, program+"-controller", "controller",
		append([]string{"--kubeconfig=" + kubeconfig, "--namespace=" + hubNamespace}, more...)...)
}

// startAddOnManager runs OCM's add-on manager on the hub. The manager gives rights to add-ons. It therefore has only
// the rights of its own ServiceAccount. OCM's remaining controllers start with all rights.
func (p *plane) startAddOnManager(ctx context.Context) error {
	values := map[string]any{
		"ClusterManagerName": "cluster-manager", "ClusterManagerNamespace": hubNamespace, "Labels": map[string]string{},
	}
	if err := p.applyOCM(ctx, hubNamespace, "addon-manager", values); err != nil {
		return err
	}
	kubeconfig, err := p.serviceAccountKubeconfig(ctx, hubNamespace, addOnAccount)
	if err != nil {
		return err
	}
	return p.startOCM(ctx, "addon", "addon-manager", "manager", "--kubeconfig="+kubeconfig, "--namespace="+hubNamespace)
}

// startOCM runs one of OCM's programs.
func (p *plane) startOCM(ctx context.Context, program, name, role string, args ...string) error {
	address, err := p.addresses(name)
	if err != nil {
		return err
	}
	env, err := p.environment(name)
	if err != nil {
		return err
	}
	return p.run(ctx, spec{
		owner: p.name, name: name, path: p.programs.Path(program), env: env, layer: layerControllers, restart: true,
		args:  append([]string{role, "--disable-leader-election", "--listen=" + address[0]}, args...),
		ready: httpProbe("https://" + address[0] + "/healthz"),
	})
}

// applyOCM applies the manifests in a folder of OCM.
func (p *plane) applyOCM(ctx context.Context, namespace, folder string, values any) error {
	return p.applyManifests(ctx, namespace, p.opts.End.ocm(), ocmManifests+"/"+folder, values)
}

// applyKlusterlet gives the agents exactly the rights that OCM's klusterlet operator gives. The right to write
// Applications is not among them: the installation of Towline grants this right.
func (p *plane) applyKlusterlet(ctx context.Context) error {
	values := map[string]any{
		"KlusterletName": "klusterlet", "KlusterletNamespace": agentNamespace, "AgentNamespace": agentNamespace,
		"WorkServiceAccount": workAccount, "RegistrationServiceAccount": joinAccount,
		"Labels": map[string]string{}, "ManagedClusterRoleArn": "",
		"RegistrationDriver": map[string]string{"AuthType": "csr"},
	}
	for _, folder := range []string{"klusterlet", "klusterlet-management"} {
		if err := p.applyOCM(ctx, agentNamespace, folder, values); err != nil {
			return err
		}
	}
	// The operator makes this ClusterRole in code.
	return p.apply(ctx, "", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "open-cluster-management:klusterlet-work:aggregate"}
aggregationRule:
  clusterRoleSelectors: [{matchLabels: {open-cluster-management.io/aggregate-to-work: "true"}}]
`)
}

func (p *plane) startRegistrationAgent(ctx context.Context, hubConfig string, more ...string) error {
	kubeconfig, err := p.serviceAccountKubeconfig(ctx, agentNamespace, joinAccount)
	if err != nil {
		return err
	}
	dir, err := p.dir("hub-kubeconfig")
	if err != nil {
		return err
	}
	return p.startOCM(ctx, "registration", "registration-agent", "agent", append([]string{
		"--spoke-cluster-name=" + p.name, "--agent-id=" + agentID, "--namespace=" + agentNamespace,
		"--kubeconfig=" + kubeconfig, "--bootstrap-kubeconfig=" + hubConfig, "--hub-kubeconfig-dir=" + dir,
		"--cluster-healthcheck-period=" + p.opts.HealthCheckPeriod.String(),
	}, more...)...)
}

func (p *plane) startWorkAgent(ctx context.Context, hubConfig string) error {
	kubeconfig, err := p.serviceAccountKubeconfig(ctx, agentNamespace, workAccount)
	if err != nil {
		return err
	}
	source, err := p.workSource(ctx, hubConfig)
	if err != nil {
		return err
	}
	return p.startOCM(ctx, "work", "work-agent", "agent", append([]string{
		"--spoke-cluster-name=" + p.name, "--agent-id=" + agentID, "--namespace=" + agentNamespace, "--kubeconfig=" + kubeconfig,
	}, source...)...)
}
