// Command demo shows Towline at work on one machine: a hub, two managed clusters, and the guestbook from an
// ApplicationSet on the hub.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// patience limits the time until the guestbook is Healthy everywhere. The guestbook needs seconds.
const patience = 3 * time.Minute

func main() { os.Exit(run()) }

// run returns the exit code: 130 after Ctrl-C during the start, as in a shell.
func run() int {
	transport := flag.String("transport", fleet.TransportHub, "where the works are: hub (in its etcd) or maestro")
	open := flag.Bool("open", false, "open the status page in a browser")
	flag.Parse()
	log.SetLogger(klog.Background()) // otherwise, controller-runtime prints a stack after 30 seconds
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	err := demo(ctx, *transport, *open)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "demo: interrupted")
		return 130
	}
	fmt.Fprintln(os.Stderr, "demo:", err)
	return 1
}

// compile builds the controller, and the plugin if the page is to be opened, beside the start of the fleet.
func compile(ctx context.Context, binary, plugin string, open bool) <-chan error {
	built := make(chan error, 1)
	go func() {
		err := towline.Compile(ctx, "towline", binary)
		if err == nil && open {
			err = towline.Compile(ctx, "kubectl-towline", plugin)
		}
		built <- err
	}()
	return built
}

// versions returns the versions of Argo CD: one version builds faster than two.
func versions() []string {
	return fleet.ArgoCDOr(fleet.EndOr("").ArgoCD()[0])
}

// declare makes the hub and the clusters show their processes like Pods.
func declare(ctx context.Context, f *fleet.Fleet) error {
	for _, c := range f.Clusters() {
		if err := towline.DeclareOn(ctx, f, c); err != nil {
			return err
		}
	}
	return towline.Declare(ctx, f)
}

func demo(ctx context.Context, transport string, open bool) error {
	// Go links a program again only if the file is missing or its source has changed.
	folder := filepath.Join(towline.Root(), "bin", "demo-programs")
	binary, plugin := filepath.Join(folder, "towline"), filepath.Join(folder, "kubectl-towline")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	built := compile(ctx, binary, plugin, open)
	var r running
	defer r.stop()
	if err := r.start(ctx, transport, binary, built); err != nil {
		return err
	}
	f, t := r.fleet, r.towline
	declared := make(chan error, 1)
	go func() { declared <- declare(ctx, f) }() // only the later `kubectl towline check` reads the objects
	say("Wait until the hub's Argo CD knows the clusters (the GitOpsCluster of example/hub)")
	if err := towline.WaitImportedAll(ctx, f); err != nil {
		return err
	}
	if err := guestbook(ctx, f); err != nil {
		return fmt.Errorf("%w\n\nThe end of Towline's log:\n%s", err, t.LogTail(20))
	}
	if err := <-declared; err != nil {
		return err
	}
	if err := show(ctx, f); err != nil {
		return err
	}
	if open {
		stop, err := servePage(ctx, plugin, f.Hub.Kubeconfig())
		if err != nil {
			return err
		}
		defer stop()
	}
	howTo(f)
	select {
	case <-ctx.Done():
		fmt.Println("\nStopping")
		return nil
	case <-f.DownRequested():
		return nil
	case <-t.Exited():
		return fmt.Errorf("towline ended: %w\n%s", t.Err(), t.LogTail(20))
	}
}

// running has the demo's fleet, and Towline on a Fleet of the hub alone.
type running struct {
	fleet, hub *fleet.Fleet
	towline    *towline.Towline
}

// start starts the fleet, and Towline while the clusters join. With Maestro, Towline starts after the clusters, because
// Towline's works then have another server.
func (r *running) start(ctx context.Context, transport, binary string, built <-chan error) (err error) {
	install := func(ctx context.Context, f *fleet.Fleet) error { return r.install(ctx, f, binary, built) }
	options := fleet.Options{
		Clusters: fleet.ClusterNames(2), Progress: os.Stdout, Transport: transport, ArgoCD: versions(), NoSetsOnClusters: true,
	}
	if transport == fleet.TransportHub {
		options.OnHub = install
	}
	if r.fleet, err = fleet.Start(ctx, options); err != nil {
		return err
	}
	if transport == fleet.TransportHub {
		say("Apply the rights of example/managed to the clusters")
		return towline.InstallOnClusters(ctx, r.fleet)
	}
	say("Have the hub's API server ask towline-maestro for ManifestWorks: they are in Maestro (" + r.fleet.Hub.MaestroURL() + ")")
	if _, err := towline.InstallMaestro(ctx, r.fleet); err != nil {
		return err
	}
	return install(ctx, r.fleet)
}

// install applies Towline's objects and the examples to the hub, and starts the controller when built is finished.
func (r *running) install(ctx context.Context, f *fleet.Fleet, binary string, built <-chan error) (err error) {
	r.hub = f
	say("Install Towline and the GitOpsCluster of example/hub on the hub")
	if err := towline.Install(ctx, f); err != nil {
		return err
	}
	if err := <-built; err != nil {
		return err
	}
	if r.towline, err = towline.Run(ctx, f, binary, "towline"); err != nil {
		return err
	}
	fmt.Printf("towline controller runs as process %d with the rights of ServiceAccount %s/%s; log: %s\n\n",
		r.towline.PID(), towline.Namespace, towline.ServiceAccount, r.towline.Log())
	return nil
}

// stop ends Towline, and then the fleet.
func (r *running) stop() {
	for _, f := range []*fleet.Fleet{r.hub, r.fleet} {
		if f != nil {
			f.Stop()
		}
	}
}

// guestbook applies the example, and waits until the hub shows Healthy for every cluster.
func guestbook(ctx context.Context, f *fleet.Fleet) error {
	manifest, err := towline.Manifest(f, "example/guestbook-app-set.yaml")
	if err != nil {
		return err
	}
	say("Apply this ApplicationSet to the hub (example/guestbook-app-set.yaml, with the fleet's own Git server)")
	fmt.Println(withoutComments(manifest))
	began := time.Now()
	if err := towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/guestbook-app-set.yaml"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, cluster := range f.Clusters() {
		if err := waitHealthy(ctx, f, cluster.Name()+"-guestbook-app"); err != nil {
			return err
		}
		fmt.Printf("%6.2f s  %s is Synced and Healthy on the hub\n", time.Since(began).Seconds(), cluster.Name())
	}
	return nil
}

// waitHealthy waits with kubectl, which uses a watch.
func waitHealthy(ctx context.Context, f *fleet.Fleet, name string) error {
	resource := "applications.argoproj.io/" + name
	for _, condition := range []string{"create", "jsonpath={.status.sync.status}=Synced", "jsonpath={.status.health.status}=Healthy"} {
		_, err := f.Hub.Kubectl(ctx, "--namespace", fleet.ArgoCDNamespace, "wait", "--for="+condition, resource, "--timeout="+patience.String())
		if err != nil {
			status, _ := f.Hub.Kubectl(context.WithoutCancel(ctx), "--namespace", fleet.ArgoCDNamespace, "get", resource, "--output=yaml")
			return fmt.Errorf("%s did not become Synced and Healthy: %w\n%s", name, err, status)
		}
	}
	return nil
}

// show prints the objects of interest to a user, with the command for each.
func show(ctx context.Context, f *fleet.Fleet) error {
	views := []struct {
		title string
		plane *fleet.ControlPlane
		args  string
	}{
		{"On the hub, the clusters that Argo CD knows", &f.Hub.ControlPlane, "get gitopsclusters --namespace argocd"},
		{"On the hub, the Applications", &f.Hub.ControlPlane, "get applications.argoproj.io --namespace argocd"},
		{"On the hub, the ManifestWorks with the Applications", &f.Hub.ControlPlane, "get manifestworks --all-namespaces"},
	}
	for _, c := range f.Clusters() {
		views = append(views, struct {
			title string
			plane *fleet.ControlPlane
			args  string
		}{"On " + c.Name() + ", the Application and the workload", &c.ControlPlane,
			"get applications.argoproj.io,deployments,services --all-namespaces --selector=!provider"})
	}
	for _, v := range views {
		say(v.title)
		fmt.Println("$ kubectl", v.args)
		out, err := v.plane.Kubectl(ctx, strings.Fields(v.args)...)
		if err != nil {
			return err
		}
		fmt.Println(out)
	}
	return nil
}

func howTo(f *fleet.Fleet) {
	say("Look around (in another terminal)")
	fmt.Printf("export PATH=%s:$PATH   # kubectl and argocd\n", f.Bin())
	fmt.Printf("export KUBECONFIG=%s   # the hub\n", f.Hub.Kubeconfig())
	for _, c := range f.Clusters() {
		fmt.Printf("export KUBECONFIG=%s   # %s\n", c.Kubeconfig(), c.Name())
	}
	fmt.Printf("git clone %s   # push to it, and the clusters follow\n", f.Git.URL(fleet.AppsRepo))
	fmt.Printf("ls %s   # the logs\n", f.Logs())
	say("Everything stays up until Ctrl-C. Begin with these commands, in another terminal in this folder")
	fmt.Printf("export PATH=%s:$PATH KUBECONFIG=%s\n", f.Bin(), f.Hub.Kubeconfig())
	fmt.Println("kubectl get applications.argoproj.io --namespace argocd")
	fmt.Println("make plugin && bin/kubectl-towline dashboard")
}

func say(headline string) { fmt.Printf("\n==> %s\n", headline) }

func withoutComments(manifest string) string {
	var lines []string
	for line := range strings.Lines(manifest) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
