package faults

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// news counts what is heard of each point's objects: what a point's state is need not be found out again while nothing is heard.
type news struct {
	mu    sync.Mutex
	count map[string]int
}

// of is how often something of a point has changed.
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

// OnAdd, OnUpdate and OnDelete are those of cache.ResourceEventHandler.
func (n *news) OnAdd(obj any, _ bool) { n.hear(obj) }
func (n *news) OnUpdate(_, obj any)   { n.hear(obj) }
func (n *news) OnDelete(obj any)      { n.hear(obj) }
