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

// outage does something with the hub's etcd while neither that nor the API server runs, and tells when the hub was back.
//
// Of what works with the hub, only Towline and its agent live through it. The others are stopped before and start anew: a
// reflector of client-go (v0.35) lists again after 0.8 s and then ever later, up to a minute, and forgets that only after
// two good minutes. The specs that come next would wait for OCM's agents and controllers, longer with each outage.
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

// stopWorkingWithHub stops them, and gives a function that starts them again.
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

// workingWithHub are the processes that run and are clients of the hub: its own controllers, and the clusters' agents.
func workingWithHub(ctx context.Context) (clients []process) {
	GinkgoHelper()
	status, err := f.Status(ctx)
	Expect(err).NotTo(HaveOccurred())
	servers := []string{"etcd", "kube-apiserver", "postgres", "mosquitto", "maestro"} // the last three are no clients of the hub's API
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
