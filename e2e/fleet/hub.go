package fleet

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// hubNamespaces are created before the objects in these namespaces.
const hubNamespaces = `
{apiVersion: v1, kind: Namespace, metadata: {name: argocd}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: open-cluster-management-hub}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: open-cluster-management}}
`

// startHub starts the hub. Its controllers start after the CRDs, because the garbage collector looks for new types only
// rarely.
func (p *plane) startHub(ctx context.Context) error {
	if err := p.startControlPlane(ctx); err != nil {
		return err
	}
	if err := p.installHubCRDs(ctx); err != nil {
		return err
	}
	if err := p.apply(ctx, "", hubNamespaces); err != nil {
		return err
	}
	p.progress("hub: API server and CRDs are ready (%s)", p.server)
	group, ctx := errgroup.WithContext(ctx)
	if p.opts.Transport == TransportMaestro {
		group.Go(func() error { return p.startMaestro(ctx) })
	}
	if p.opts.HubControlPlaneOnly {
		return group.Wait()
	}
	group.Go(func() error { return p.startHubControllers(ctx) })
	group.Go(func() error { return p.startOCMController(ctx, "placement") })
	group.Go(func() error { return p.startOCMController(ctx, "registration") })
	group.Go(func() error { return p.startAddOnManager(ctx) })
	group.Go(func() error {
		if err := p.prepareArgoCD(ctx, "applicationset-controller", "server"); err != nil {
			return err
		}
		return p.startArgoHub(ctx)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	p.progress("hub: OCM and Argo CD are ready")
	return nil
}

func (p *plane) installHubCRDs(ctx context.Context) error {
	return p.installCRDs(ctx, func(file string) bool { return !ofClusters(file) })
}

// installCRDs installs the wanted CRDs of OCM, and the CRDs of Argo CD.
func (p *plane) installCRDs(ctx context.Context, wanted func(file string) bool) error {
	ocm, err := p.ocmCRDs(wanted)
	if err != nil {
		return err
	}
	argo, err := p.programs.manifests(p.argo.set, argoManifests+"/crds")
	if err != nil {
		return err
	}
	if p.opts.NoSetsOnClusters && p.name != hubName {
		argo = slices.DeleteFunc(argo, func(file string) bool { return strings.HasPrefix(filepath.Base(file), "applicationset") })
	}
	return installCRDs(ctx, p.client, append(ocm, argo...))
}

// ocmCRDs returns the files of the wanted CRDs of OCM.
func (p *plane) ocmCRDs(wanted func(file string) bool) ([]string, error) {
	files, err := p.programs.manifests(p.opts.End.ocm(), ocmManifests+"/crds")
	return slices.DeleteFunc(files, func(file string) bool { return !wanted(filepath.Base(file)) }), err
}

func (p *plane) startHubControllers(ctx context.Context) error {
	return p.startControllerManager(ctx,
		"garbage-collector-controller", "namespace-controller", "serviceaccount-controller",
		"clusterrole-aggregation-controller",
		// This controller signs the certificates of add-ons on the clusters.
		"certificatesigningrequest-signing-controller",
		"validatingadmissionpolicy-status-controller",
	)
}
