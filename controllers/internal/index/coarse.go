package index

import (
	"context"
	"hash/maphash"
	"slices"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// buckets is the number of entries in a coarse index.
//
// An index with a different value for every object takes some 300 bytes for each object: a key, an entry, and a set
// with a single element. A coarse index uses a hash of the value instead. The caller filters the found objects: some
// twenty-five with 100,000 Applications.
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

// bucket returns the key of a value in a coarse index.
func bucket(value string) string { return names[maphash.String(seed, value)%buckets] }

// coarse turns an index function into the function of a coarse index.
func coarse(values client.IndexerFunc) client.IndexerFunc {
	return func(obj client.Object) []string {
		out := values(obj)
		for i := range out {
			out[i] = bucket(out[i])
		}
		return out
	}
}

// inBucket returns the wanted Applications among the matches of a coarse index for a value. The Applications are shared
// with the cache: the caller must not change the Applications.
func inBucket(ctx context.Context, c client.Reader, name, value string, wanted func(*argocd.Application) bool) []*argocd.Application {
	return only(Applications(ctx, c, name, bucket(value)), wanted)
}

// only returns the wanted Applications. The result reuses the array of found.
func only(found []*argocd.Application, wanted func(*argocd.Application) bool) []*argocd.Application {
	return slices.DeleteFunc(found, func(app *argocd.Application) bool { return !wanted(app) })
}
