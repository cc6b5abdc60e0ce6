// Code generated from e2e/programs/argocd by make generate. DO NOT EDIT.

package argocd

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	cacheutil "github.com/argoproj/argo-cd/v3/util/cache"
	"github.com/argoproj/argo-cd/v3/util/cache/appstate"
	"github.com/redis/go-redis/v9"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entry is the content of pkg/tree/testdata/entry.golden.json: Towline's data for Argo CD's cache.
type entry struct {
	Key, Value, CompressedKey string
	Compressed                []byte
	Channel                   string
	OtherNamespaceKey         string
	Live                      string
}

func written(t *testing.T) (entry, *redis.Client) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "pkg/tree/testdata/entry.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var e entry
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	server := miniredis.RunT(t)
	for key, value := range map[string]string{e.Key: e.Value, e.CompressedKey: string(e.Compressed), e.OtherNamespaceKey: e.Value} {
		if err := server.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { client.Close() })
	return e, client
}

func appState(client *redis.Client, compression cacheutil.RedisCompressionType) *appstate.Cache {
	return appstate.NewCache(cacheutil.NewCache(cacheutil.NewRedisCache(client, time.Hour, compression)), time.Hour)
}

// TestArgoCDReadsTheTree reads Towline's entries through the cache package of argocd-server.
func TestArgoCDReadsTheTree(t *testing.T) {
	_, client := written(t)
	home := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "guestbook"}}
	elsewhere := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "guestbook"}}
	for title, tc := range map[string]struct {
		app         *v1alpha1.Application
		compression cacheutil.RedisCompressionType
	}{
		"plain":                {home, cacheutil.RedisCompressionNone},
		"compressed":           {home, cacheutil.RedisCompressionGZip},
		"in another namespace": {elsewhere, cacheutil.RedisCompressionNone},
	} {
		t.Run(title, func(t *testing.T) {
			var got v1alpha1.ApplicationTree
			if err := appState(client, tc.compression).GetAppResourcesTree(tc.app.InstanceName("argocd"), &got); err != nil {
				t.Fatal(err)
			}
			uids, health := listed(got)
			if want := []string{"/Namespace//guestbook", "/Service/guestbook/guestbook-ui", "apps/Deployment/guestbook/guestbook-ui"}; !slices.Equal(uids, want) {
				t.Errorf("got %v, want %v", uids, want)
			}
			if health["apps/Deployment/guestbook/guestbook-ui"] != "Degraded" {
				t.Errorf("got %v", health)
			}
			for _, n := range got.Nodes {
				if found := got.FindNode(n.Group, n.Kind, n.Namespace, n.Name); found == nil || found.UID != "" {
					t.Errorf("argocd-server would act on the hub's %s of that name", n.FullName())
				}
			}
		})
	}
}

// TestArgoCDFindsLiveNodes: with access to the cluster, argocd-server lists each resource, and shows the logs of each
// Pod.
func TestArgoCDFindsLiveNodes(t *testing.T) {
	e, _ := written(t)
	server := miniredis.RunT(t)
	if err := server.Set(e.Key, e.Live); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { client.Close() })
	var got v1alpha1.ApplicationTree
	if err := appState(client, cacheutil.RedisCompressionNone).GetAppResourcesTree("guestbook", &got); err != nil {
		t.Fatal(err)
	}
	uids, _ := listed(got)
	want := []string{"/Namespace//guestbook", "/Pod/guestbook/alone", "/Service/guestbook/guestbook-ui", "apps/Deployment/guestbook/guestbook-ui"}
	if !slices.Equal(uids, want) || len(got.Nodes) != len(want) {
		t.Errorf("got %v of %d nodes, want %v", uids, len(got.Nodes), want)
	}
	for _, n := range got.Nodes {
		if found := got.FindNode(n.Group, n.Kind, n.Namespace, n.Name); found == nil || found.UID == "" || found.Version != "v1" {
			t.Errorf("argocd-server does not find %s: %+v", n.FullName(), found)
		}
	}
}

// listed returns the UIDs of the nodes in the CLI's tree and list, and the health of the nodes.
func listed(tree v1alpha1.ApplicationTree) (uids []string, health map[string]string) {
	health = map[string]string{}
	for _, n := range tree.Nodes {
		if len(n.ParentRefs) > 0 {
			continue
		}
		uids = append(uids, n.UID)
		if n.Health != nil {
			health[n.UID] = string(n.Health.Status)
		}
	}
	return uids, health
}

// TestArgoCDHearsOfTheTree: a user with an open tree sees the tree change.
func TestArgoCDHearsOfTheTree(t *testing.T) {
	e, client := written(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	heard := make(chan struct{})
	go func() {
		_ = appState(client, cacheutil.RedisCompressionGZip).OnAppResourcesTreeChanged(ctx, "guestbook", func() error {
			close(heard)
			return context.Canceled
		})
	}()
	for {
		if n, err := client.Publish(ctx, e.Channel, "").Result(); err != nil {
			t.Fatal(err)
		} else if n > 0 {
			break
		}
	}
	select {
	case <-heard:
	case <-ctx.Done():
		t.Error("nobody heard")
	}
}
