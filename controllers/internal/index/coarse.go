package index

import (
	"context"
	"hash/maphash"
	"slices"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// buckets is how many entries a coarse index has.
//
// An index by something of which every object has another value takes some 300 bytes for each: a key, an entry, and a
// set of one. A coarse index is by a hash of it instead. What is found is looked at again; with 100,000 Applications it
// is some twenty-five.
const buckets = 4096

var (
	seed  = maphash.MakeSeed()
	names = func() (out [buckets]string) {
		for i := range out {
			out[i] = strconv.Itoa(i)
		}
		return out
	}()
)

// bucket stands for a value in a coarse index.
func bucket(value string) string { return names[maphash.String(seed, value)%buckets] }

// coarse makes an index coarse.
func coarse(values client.IndexerFunc) client.IndexerFunc {
	return func(obj client.Object) []string {
		out := values(obj)
		for i := range out {
			out[i] = bucket(out[i])
		}
		return out
	}
}

// inBucket are the Applications that a coarse index finds for a value, and which are the ones that are looked for. They
// are the cache's own: not to be changed.
func inBucket(ctx context.Context, c client.Reader, name, value string, wanted func(*argocd.Application) bool) []*argocd.Application {
	return only(Applications(ctx, c, name, bucket(value)), wanted)
}

// only are those that are looked for. The list is used for them.
func only(found []*argocd.Application, wanted func(*argocd.Application) bool) []*argocd.Application {
	return slices.DeleteFunc(found, func(app *argocd.Application) bool { return !wanted(app) })
}
