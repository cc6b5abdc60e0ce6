package faults

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// news counts the events of each point's objects. The state of a point needs no new read while the count is unchanged.
type news struct {
	mu    sync.Mutex
	count map[string]int
}

// of returns the number of events of a point's objects.
func (n *news) of(id string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count[id]
}

func (n *news) forget(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.count, id)
}

func (n *news) hear(obj any) {
	if gone, is := obj.(cache.DeletedFinalStateUnknown); is {
		obj = gone.Obj
	}
	o, is := obj.(client.Object)
	if !is {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range pointOf(o) {
		n.count[id]++
	}
}

// OnAdd, OnUpdate and OnDelete implement cache.ResourceEventHandler.
func (n *news) OnAdd(obj any, _ bool) { n.hear(obj) }
func (n *news) OnUpdate(_, obj any)   { n.hear(obj) }
func (n *news) OnDelete(obj any)      { n.hear(obj) }
