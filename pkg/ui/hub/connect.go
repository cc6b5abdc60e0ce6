package hub

import (
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/reading"
)

// connect returns a client with the identity of a config.
func connect(config *rest.Config) (client.WithWatch, error) {
	scheme, err := reading.Scheme()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: reading.Mapper()})
}
