package fleet

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const clusterNamespaces = `
{apiVersion: v1, kind: Namespace, metadata: {name: argocd}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: open-cluster-management-agent}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: open-cluster-management-agent-addon}}
`

// startCluster starts a managed cluster, and joins the cluster as soon as the hub is ready.
func (p *plane) startCluster(ctx context.Context, hubReady <-chan struct{}) error {
	if err := p.startControlPlane(ctx); err != nil {
		return err
	}
	if err := p.prepareCluster(ctx); err != nil {
		return err
	}
	p.progress("%s: API server and CRDs are ready (%s)", p.name, p.server)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.startClusterControllers(ctx) })
	group.Go(func() error { return p.startComponent(ctx, "kube-scheduler") })
	group.Go(func() error { return p.startNode(ctx) })
	group.Go(func() error {
		if err := p.prepareArgoCD(ctx, "application-controller"); err != nil {
			return err
		}
		return p.startArgoCluster(ctx)
	})
	group.Go(func() error {
		select {
		case <-hubReady:
			return p.join(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err := group.Wait(); err != nil {
		return err
	}
	p.progress("%s: joined and Available, Argo CD is ready", p.name)
	return nil
}

func (p *plane) prepareCluster(ctx context.Context) error {
	if err := p.installCRDs(ctx, ofClusters); err != nil {
		return err
	}
	if p.imported {
		return p.apply(ctx, "", clusterNamespaces)
	}
	return p.prepareAgents(ctx)
}

// ofClusters returns whether a file has a CRD of OCM for managed clusters.
func ofClusters(file string) bool {
	return strings.Contains(file, "appliedmanifestworks") || strings.Contains(file, "clusterclaims")
}

// prepareAgents makes the namespaces and the rights of OCM's agents.
func (p *plane) prepareAgents(ctx context.Context) error {
	if err := p.apply(ctx, "", clusterNamespaces); err != nil {
		return err
	}
	return p.applyKlusterlet(ctx)
}

func (p *plane) startClusterControllers(ctx context.Context) error {
	return p.startControllerManager(ctx,
		"garbage-collector-controller", "namespace-controller", "serviceaccount-controller",
		"deployment-controller", "replicaset-controller", "statefulset-controller", "daemonset-controller",
		"job-controller", "endpointslice-controller",
		// The work agent's rights are the sum of labelled ClusterRoles.
		"clusterrole-aggregation-controller",
	)
}

// startNode runs KWOK, which plays the kubelet, and makes a Node.
func (p *plane) startNode(ctx context.Context) error {
	address, err := p.addresses("kwok")
	if err != nil {
		return err
	}
	kubeconfig, err := p.componentKubeconfig("kwok")
	if err != nil {
		return err
	}
	env, err := p.environment("kwok")
	if err != nil {
		return err
	}
	stages, err := p.programs.manifests(fleetSet, kwokStages)
	if err != nil {
		return err
	}
	args := []string{"--kubeconfig=" + kubeconfig, "--manage-all-nodes=true", "--server-address=" + address[0]}
	for _, stage := range stages {
		args = append(args, "--config="+stage)
	}
	err = p.run(ctx, spec{
		owner: p.name, name: "kwok", path: p.programs.Path("kwok"), args: args, env: env,
		layer: layerControllers, restart: true, ready: httpProbe("http://" + address[0] + "/healthz"),
		// The controllers of nodes and pods (KWOK 0.8.0 with easycel 0.6.0) fill one map without a lock, at the first object.
		// With existing pods, both controllers begin at the same moment.
		crash: "fatal error: concurrent map",
	})
	if err != nil {
		return err
	}
	return p.createNode(ctx)
}

func (p *plane) createNode(ctx context.Context) error {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   p.name + "-node",
			Labels: map[string]string{"kubernetes.io/hostname": p.name + "-node", "type": "kwok"},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	if err := p.client.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the node of %s: %w", p.name, err)
	}
	return nil
}

// rebuild replaces a cluster by an empty cluster of the same name, at the same address.
func (p *plane) rebuild(ctx context.Context) error {
	if p.guest {
		return fmt.Errorf("%s is the hub of another fleet: only the other fleet can rebuild the hub", p.name)
	}
	p.stopOwner(p.name)
	if p.redis != nil {
		p.redis.server.FlushAll()
	}
	if err := removeAll(p.paths.data(p.name)); err != nil {
		return fmt.Errorf("removing the data of %s: %w", p.name, err)
	}
	ready := make(chan struct{})
	close(ready)
	return p.startCluster(ctx, ready)
}
