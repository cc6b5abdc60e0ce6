package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// object is a JSON object for the API server.
type object = map[string]any

// bare is a client with minimal work: it sends bytes, and decodes answers only on request.
type bare struct{ rest *rest.RESTClient }

func newBare(config *rest.Config) (*bare, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	config.UserAgent = "towline-bench"
	config.WarningHandler = rest.NoWarnings{} // without warnings about Argo CD's finalizer at every create
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	client, err := rest.UnversionedRESTClientFor(config)
	return &bare{client}, err
}

// create posts an object. An existing object is an error, because a run starts with an empty hub.
func (b *bare) create(ctx context.Context, path string, body any) error {
	return b.rest.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(encoded(body)).Do(ctx).Error()
}

// patch sends a merge patch.
func (b *bare) patch(ctx context.Context, path string, body any) error {
	return b.rest.Patch(types.MergePatchType).AbsPath(path).Body(encoded(body)).Do(ctx).Error()
}

func (b *bare) remove(ctx context.Context, path string) error {
	err := b.rest.Delete().AbsPath(path).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// get reads an object and decodes it into out.
func (b *bare) get(ctx context.Context, path string, out any) error {
	data, err := b.rest.Get().AbsPath(path).DoRaw(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}

// encoded returns a body as bytes. Bytes stay as they are, and objects are encoded as JSON.
func encoded(body any) []byte {
	if data, ok := body.([]byte); ok {
		return data
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("an object of the benchmark cannot be encoded: %v", err))
	}
	return data
}

// each calls do for every number below n, with the given number of parallel calls, until a call fails.
func each(ctx context.Context, n, parallel int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(n, parallel) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return ctx.Err()
				}
				if err := do(ctx, i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}
