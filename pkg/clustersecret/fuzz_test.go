package clustersecret_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/fixture"
)

// FuzzSecrets checks any Secret with any cluster name and labels. A second update changes nothing, the Secret belongs
// to its cluster, foreign data stays, and the last owner leaves nothing of Towline behind.
func FuzzSecrets(f *testing.F) {
	f.Add([]byte(`{"metadata":{"labels":{"team":"a","env":"x"},"annotations":{"a":"b"}},"data":{"config":"e30="}}`),
		"env", "dev", "cluster1", "token", uint8(1))
	f.Add([]byte(`{"metadata":{"labels":{"argocd.argoproj.io/secret-type":"repository"}}}`),
		"argocd.argoproj.io/secret-type", "repository", "c", "", uint8(2))
	f.Add([]byte(`{"data":{"server":"aHR0cHM6Ly9h","config":"eyJ4IjoxfQ=="}}`), "app.kubernetes.io/instance", "victim", "a,b/c", "\x00", uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, key, value, claim, token string, flags uint8) {
		was := &corev1.Secret{}
		if json.Unmarshal(data, was) != nil || !stored(map[string]string{key: value}) || !stored(was.Labels) {
			return
		}
		if len(validation.IsQualifiedName(claim)) > 0 || !clustersecret.Follows(claim) {
			claim = "region.example.com" // the flag accepts only such names
		}
		cluster := fixture.Cluster("cluster1").Label(key, value).Claim(claim, value)
		i := of(cluster, func(i *clustersecret.Import) { i.Claims = []string{claim} })
		if flags&1 != 0 {
			push(token)(&i)
		}
		i.Keep, i.Blank = flags&2 != 0, flags&4 != 0
		read := trimmed(t, was)
		out, _ := clustersecret.Update(read, i)
		if again, changed := clustersecret.Update(retrimmed(t, read, out), i); changed {
			t.Errorf("%s is written twice: %+v, then %+v", data, out, again)
		}
		if out.Labels[apis.LabelSecretType] != apis.SecretTypeCluster || clustersecret.Cluster(out) != "cluster1" ||
			clustersecret.NameOf(out) != "cluster1" || !clustersecret.OwnedBy(out, owner) {
			t.Errorf("it is not that of the cluster: %+v", out)
		}
		stay(t, read, out, key, claim)
		leave(t, out, key)
	})
}

// stored reports whether an API server would accept the labels.
func stored(labels map[string]string) bool {
	for key, value := range labels {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			return false
		}
	}
	return true
}

// retrimmed returns a written Secret in the form of a cache. A kept config is a digest already.
func retrimmed(t *testing.T, was, out *corev1.Secret) *corev1.Secret {
	t.Helper()
	again := trimmed(t, out)
	if config, kept := was.Data["config"]; kept && bytes.Equal(config, out.Data["config"]) {
		again.Data["config"] = config
	}
	return again
}

// stay checks that foreign labels and data are unchanged.
func stay(t *testing.T, was, is *corev1.Secret, keys ...string) {
	t.Helper()
	brought := strings.Split(was.Annotations[apis.AnnotationClusterLabels], ",")
	for key, value := range was.Labels {
		prefix, _, _ := strings.Cut(key, "/")
		ours := slices.Contains([]string{"argocd.argoproj.io", apis.Group}, prefix) || slices.Contains(brought, key) || slices.Contains(keys, key)
		if !ours && is.Labels[key] != value {
			t.Errorf("label %s was %q and is %q", key, value, is.Labels[key])
		}
	}
	if !clustersecret.Follows(keys[0]) {
		fixed := clustersecret.New("argocd", of(fixture.Cluster("cluster1"))).Labels
		if value, there := is.Labels[keys[0]]; there && value != fixed[keys[0]] && value != was.Labels[keys[0]] {
			t.Errorf("the cluster has set label %s to %q", keys[0], value)
		}
	}
}

// leave checks that no label of the cluster and no credential of Towline is left after the last owner.
func leave(t *testing.T, s *corev1.Secret, key string) {
	t.Helper()
	for _, who := range clustersecret.Owners(s) {
		s, _ = clustersecret.RemoveOwner(s, who)
	}
	if s, last := clustersecret.RemoveOwner(s, types.NamespacedName{}); !last || len(clustersecret.Owners(s)) > 0 {
		t.Errorf("it is still owned: %v", s.Annotations)
	}
	brought := slices.Contains(strings.Split(s.Annotations[apis.AnnotationClusterLabels], ","), key)
	out, _ := clustersecret.RemoveClusterLabels(trimmed(t, s), true)
	if _, there := out.Labels[key]; there && brought && clustersecret.Follows(key) {
		t.Errorf("label %s of the cluster stays: %v", key, out.Labels)
	}
	if out.Annotations[apis.AnnotationServiceAccount] != "" {
		t.Error("the credentials stay")
	}
	if again, changed := clustersecret.RemoveClusterLabels(trimmed(t, out), true); changed && !maps.Equal(again.Labels, out.Labels) {
		t.Errorf("it leaves twice: %v, then %v", out.Labels, again.Labels)
	}
}
