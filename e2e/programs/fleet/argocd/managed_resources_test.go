// Code generated from e2e/programs/argocd by make generate. DO NOT EDIT.

package argocd

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	cacheutil "github.com/argoproj/argo-cd/v3/util/cache"
	"github.com/argoproj/argo-cd/v3/util/cache/appstate"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managedEntry is the content of pkg/managedresources/testdata/entry.golden.json: Towline's data for Argo CD's cache.
type managedEntry struct {
	Key, Value, CompressedKey string
	Compressed                []byte
	OtherNamespaceKey         string
	Lifetime                  string
}

// managed returns Towline's data, and the resources that Argo CD has written before Towline.
func managed(t *testing.T) (e managedEntry, of []*v1alpha1.ResourceDiff) {
	t.Helper()
	for name, into := range map[string]any{"entry.golden.json": &e, "argocd.json": &of} {
		data, err := os.ReadFile(filepath.Join(root, "pkg/managedresources/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return e, of
}

func redisOf(t *testing.T) (*miniredis.Miniredis, *redis.Client) {
	t.Helper()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { client.Close() })
	return server, client
}

// TestArgoCDReadsManagedResources reads Towline's entries through the cache package of argocd-server.
func TestArgoCDReadsManagedResources(t *testing.T) {
	e, want := managed(t)
	server, client := redisOf(t)
	for key, value := range map[string]string{e.Key: e.Value, e.CompressedKey: string(e.Compressed), e.OtherNamespaceKey: e.Value} {
		if err := server.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	for title, tc := range map[string]struct {
		namespace   string
		compression cacheutil.RedisCompressionType
	}{
		"plain":                {"argocd", cacheutil.RedisCompressionNone},
		"compressed":           {"argocd", cacheutil.RedisCompressionGZip},
		"in another namespace": {"team-a", cacheutil.RedisCompressionNone},
	} {
		t.Run(title, func(t *testing.T) {
			app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace, Name: "guestbook"}}
			var got []*v1alpha1.ResourceDiff
			if err := appState(client, tc.compression).GetAppManagedResources(app.InstanceName("argocd"), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestArgoCDWritesManagedResources: Argo CD writes the entry that Towline reads, under the same key and for the same time.
func TestArgoCDWritesManagedResources(t *testing.T) {
	e, resources := managed(t)
	for compression, key := range map[cacheutil.RedisCompressionType]string{
		cacheutil.RedisCompressionNone: e.Key, cacheutil.RedisCompressionGZip: e.CompressedKey,
	} {
		server, client := redisOf(t)
		cmd := &cobra.Command{}
		if appstate.AddCacheFlagsToCmd(cmd); cmd.Flag("app-state-cache-expiration").DefValue != e.Lifetime {
			t.Errorf("an entry lives for %s, and Towline's for %s", cmd.Flag("app-state-cache-expiration").DefValue, e.Lifetime)
		}
		lifetime, err := time.ParseDuration(e.Lifetime)
		if err != nil {
			t.Fatal(err)
		}
		cache := appstate.NewCache(cacheutil.NewCache(cacheutil.NewRedisCache(client, time.Minute, compression)), lifetime)
		if err := cache.SetAppManagedResources("guestbook", resources); err != nil {
			t.Fatal(err)
		}
		if keys := server.Keys(); len(keys) != 1 || keys[0] != key || server.TTL(key) != lifetime {
			t.Errorf("Argo CD writes %v for %s, and not %s for %s", keys, server.TTL(key), key, lifetime)
		}
		value, err := client.Get(context.Background(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		var in io.Reader = strings.NewReader(value)
		if compression == cacheutil.RedisCompressionGZip {
			if in, err = gzip.NewReader(in); err != nil {
				t.Fatal(err)
			}
		}
		var got []*v1alpha1.ResourceDiff
		if err := json.NewDecoder(in).Decode(&got); err != nil || !reflect.DeepEqual(got, resources) {
			t.Errorf("Argo CD writes %+v, %v", got, err)
		}
	}
}

// TestManagedResourcesAreComplete: the fixture has each field of Argo CD's type, except for the deprecated field diff.
// Towline drops fields that it does not know.
func TestManagedResourcesAreComplete(t *testing.T) {
	_, resources := managed(t)
	first := reflect.ValueOf(*resources[0])
	for i := range first.NumField() {
		if name := first.Type().Field(i).Name; first.Field(i).IsZero() != (name == "Diff") {
			t.Errorf("the fixture has %v in the field %s", first.Field(i), name)
		}
	}
}
