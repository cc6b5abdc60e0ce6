package suite

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
)

// outage stops the hub's API server and etcd, calls meanwhile with the folder of etcd's data, and starts both again. It
// returns the time when the hub was back.
//
// Of the hub's clients, only Towline and its agent run during the outage. All other clients are stopped before and
// started again after the outage. A reflector of client-go (0.37.2) lists again after 0.8 s and then with growing
// delays, up to a minute. The delay is reset only after more than two minutes. The next specs would otherwise wait for
// OCM's agents and controllers, longer with each outage.
func outage(ctx context.Context, meanwhile func(etcd string)) (back time.Time) {
	GinkgoHelper()
	start := stopWorkingWithHub(ctx)
	defer start(ctx)
	Expect(f.Hub.StopAPIServer(ctx)).To(Succeed())
	Expect(f.Hub.StopProcess(ctx, "etcd")).To(Succeed())
	defer func() {
		Expect(f.Hub.StartProcess(ctx, "etcd")).To(Succeed())
		Expect(f.Hub.StartAPIServer(ctx)).To(Succeed())
		back = time.Now()
	}()
	meanwhile(filepath.Join(f.Hub.DataDir(), "etcd"))
	return back
}

type process struct {
	plane *fleet.ControlPlane
	name  string
}

// stopWorkingWithHub stops the clients of the hub. The returned function starts them again.
func stopWorkingWithHub(ctx context.Context) (start func(context.Context)) {
	GinkgoHelper()
	stopped := workingWithHub(ctx)
	for _, p := range stopped {
		Expect(p.plane.StopProcess(ctx, p.name)).To(Succeed())
	}
	return func(ctx context.Context) {
		GinkgoHelper()
		for _, p := range stopped {
			Expect(p.plane.StartProcess(ctx, p.name)).To(Succeed())
		}
	}
}

// workingWithHub returns the running processes with clients of the hub: the hub's own controllers, and the clusters'
// agents.
func workingWithHub(ctx context.Context) (clients []process) {
	GinkgoHelper()
	status, err := f.Status(ctx)
	Expect(err).NotTo(HaveOccurred())
	servers := []string{"etcd", "kube-apiserver", "postgres", "mosquitto", "maestro"} // the last three do not use the hub's API
	agents := []string{"registration-agent", "work-agent"}
	for _, p := range status.Planes {
		plane, hub := &f.Hub.ControlPlane, p.Name == f.Hub.Name()
		if !hub {
			plane = &f.Cluster(p.Name).ControlPlane
		}
		for _, found := range p.Processes {
			if found.Running && (hub && !slices.Contains(servers, found.Name) || !hub && slices.Contains(agents, found.Name)) {
				clients = append(clients, process{plane, found.Name})
			}
		}
	}
	return clients
}
