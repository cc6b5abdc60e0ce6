package clustersecret_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/fixture/golden"
)

var owner = types.NamespacedName{Namespace: "argocd", Name: "fleet"}

// cluster1 returns a cluster with permitted and reserved labels.
func cluster1() *fixture.ClusterBuilder {
	return fixture.Cluster("cluster1").URL("https://api.cluster1.example.com:6443").
		Label("env", "dev").Label("cloud", "Other").
		Label("argocd.argoproj.io/secret-type", "repository").Label("app.kubernetes.io/instance", "victim")
}

func of(b *fixture.ClusterBuilder, edits ...func(*clustersecret.Import)) clustersecret.Import {
	i := clustersecret.Import{Cluster: b.Obj(), Owner: owner, Server: "https://api.cluster1.example.com:6443"}
	for _, edit := range edits {
		edit(&i)
	}
	return i
}

func push(token string) func(*clustersecret.Import) {
	return func(i *clustersecret.Import) {
		i.Credentials = &clustersecret.Credentials{Account: "argocd-manager", Token: []byte(token), CA: []byte("-----BEGIN CERTIFICATE-----\n")}
	}
}

func keep(i *clustersecret.Import)  { i.Keep = true }
func blank(i *clustersecret.Import) { i.Blank = true }

func TestNewGolden(t *testing.T) {
	for title, i := range map[string]clustersecret.Import{
		"pull": of(cluster1()),
		"push": of(cluster1(), push("token-1")),
		"claims": of(cluster1().Claim("region.example.com", "eu").Claim("env", "forged").Claim("long", strings.Repeat("x", 64)).Claim("unasked", "x"),
			func(i *clustersecret.Import) { i.Claims = []string{"region.example.com", "env", "long"} }),
		"placeholder": of(fixture.Cluster("edge"), func(i *clustersecret.Import) { i.Server = clustersecret.Placeholder("edge") }),
	} {
		t.Run(title, func(t *testing.T) {
			before := i.Cluster.DeepCopy()
			got := clustersecret.New("argocd", i)
			if diff := cmp.Diff(before, i.Cluster); diff != "" {
				t.Errorf("its input was changed:\n%s", diff)
			}
			readable := map[string]string{}
			for key, value := range got.Data {
				readable[key] = string(value)
			}
			got.Data, got.StringData = nil, readable
			text, err := yaml.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, title+".golden.yaml", text)
		})
	}
}

// trimmed returns a Secret in the form of a cache.
func trimmed(t *testing.T, s *corev1.Secret) *corev1.Secret {
	t.Helper()
	obj, err := clustersecret.Trim(s)
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*corev1.Secret)
}

func TestUpdateOfACurrentSecret(t *testing.T) {
	for title, i := range map[string]clustersecret.Import{
		"without credentials": of(cluster1()), "with credentials": of(cluster1(), push("token-1")),
	} {
		if after, changed := clustersecret.Update(trimmed(t, clustersecret.New("argocd", i)), i); changed {
			t.Errorf("%s: changed to %v", title, after)
		}
	}
}

func TestLabelsFollow(t *testing.T) {
	type (
		edits  []func(*corev1.Secret)
		labels map[string]string
	)
	hand := func(s *corev1.Secret) { s.Labels["team"] = "a" }
	adopted := func(s *corev1.Secret) { s.Annotations = nil }
	taken := func(s *corev1.Secret) { delete(s.Labels, "env") }
	forged := func(s *corev1.Secret) { s.Annotations[apis.AnnotationClusterLabels] = apis.LabelSecretType }
	bare := func() *fixture.ClusterBuilder { return fixture.Cluster("cluster1") }
	for title, tc := range map[string]struct {
		edits   edits
		cluster *fixture.ClusterBuilder
		want    labels
		without []string
	}{
		"a new value":              {nil, bare().Label("env", "prod"), labels{"env": "prod"}, []string{"cloud"}},
		"a new label":              {nil, cluster1().Label("zone", "z"), labels{"env": "dev", "zone": "z"}, nil},
		"a hand-set label stays":   {edits{hand}, bare(), labels{"team": "a"}, []string{"env", "cloud"}},
		"and is not overwritten":   {edits{hand}, cluster1().Label("team", "b"), labels{"team": "a"}, nil},
		"one that is put back":     {edits{taken}, cluster1(), labels{"env": "dev"}, nil},
		"an adopted Secret's":      {edits{hand, adopted}, bare().Label("env", "prod"), labels{"env": "prod", "team": "a"}, nil},
		"those that may not":       {nil, cluster1(), labels{apis.LabelSecretType: "cluster"}, []string{"app.kubernetes.io/instance"}},
		"none that would be ours":  {nil, cluster1().Label(apis.LabelClusterName, "x"), labels{apis.LabelClusterName: "cluster1"}, nil},
		"one forged as remembered": {edits{forged}, cluster1(), labels{apis.LabelSecretType: "cluster"}, nil},
		"marks of the hub's controllers": {
			nil, cluster1().Label(apis.LabelInstanceLegacy, "x").Label(apis.LabelApplySet, "x"), labels{"env": "dev"},
			[]string{apis.LabelInstanceLegacy, apis.LabelApplySet}},
	} {
		t.Run(title, func(t *testing.T) {
			s := clustersecret.New("argocd", of(cluster1()))
			for _, edit := range tc.edits {
				edit(s)
			}
			got, _ := clustersecret.Update(trimmed(t, s), of(tc.cluster))
			for key, value := range tc.want {
				if got.Labels[key] != value {
					t.Errorf("%s is %q, want %q", key, got.Labels[key], value)
				}
			}
			for _, key := range tc.without {
				if value, there := got.Labels[key]; there {
					t.Errorf("%s is still there: %q", key, value)
				}
			}
			if again, changed := clustersecret.Update(trimmed(t, got), of(tc.cluster)); changed {
				t.Errorf("the next update changes it again:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	blankConfig := string(clustersecret.New("argocd", of(cluster1())).Data["config"])
	foreign := func(s *corev1.Secret) {
		s.Data["config"] = []byte(`{"bearerToken":"theirs"}`)
		delete(s.Annotations, apis.AnnotationServiceAccount)
	}
	pulled, pushed := clustersecret.New("argocd", of(cluster1())), clustersecret.New("argocd", of(cluster1(), push("token-1")))
	for title, tc := range map[string]struct {
		existing *corev1.Secret
		edit     func(*corev1.Secret)
		i        clustersecret.Import
		says     string // part of the new config; empty: unchanged
		account  string
	}{
		"come":                           {pulled, nil, of(cluster1(), push("token-1")), "token-1", "argocd-manager"},
		"are rotated":                    {pushed, nil, of(cluster1(), push("token-2")), "token-2", "argocd-manager"},
		"stay when there are none new":   {pushed, nil, of(cluster1(), keep), "", "argocd-manager"},
		"go when they are not wanted":    {pushed, nil, of(cluster1()), blankConfig, ""},
		"of somebody else stay":          {pulled, foreign, of(cluster1()), "", ""},
		"of somebody else go when asked": {pulled, foreign, of(cluster1(), blank), blankConfig, ""},
		"are put in when missing":        {pulled, func(s *corev1.Secret) { delete(s.Data, "config") }, of(cluster1()), blankConfig, ""},
	} {
		t.Run(title, func(t *testing.T) {
			s := tc.existing.DeepCopy()
			if tc.edit != nil {
				tc.edit(s)
			}
			existing := trimmed(t, s)
			got, _ := clustersecret.Update(existing, tc.i)
			if tc.says == "" && string(got.Data["config"]) != string(existing.Data["config"]) {
				t.Error("the config was touched")
			}
			if !strings.Contains(string(got.Data["config"]), tc.says) {
				t.Errorf("the config is %s", got.Data["config"])
			}
			if account := got.Annotations[apis.AnnotationServiceAccount]; account != tc.account {
				t.Errorf("the annotation says %q", account)
			}
		})
	}
}

// TestAddressAndCredentialsChangeTogether checks that an address and its credentials change together. The content from
// an older controller stays whole, or is replaced as a whole. The Secrets are from multicloud-integrations (August
// 2026), by their origin.
func TestAddressAndCredentialsChangeTogether(t *testing.T) {
	const proxy, direct = "https://cluster-proxy-addon-user.multicluster-engine.svc.cluster.local:9092/cluster1", "https://api.cluster1.example.com:6443"
	older := func(source, server, config string) *corev1.Secret {
		s := &corev1.Secret{Data: map[string][]byte{"name": []byte("cluster1"), "server": []byte(server)}}
		if config != "" {
			s.Data["config"] = []byte(config)
		}
		s.Namespace, s.Name = "openshift-gitops", "cluster1-application-manager-cluster-secret"
		s.Labels = map[string]string{
			apis.LabelSecretType: apis.SecretTypeCluster, apis.LabelImported: "true", apis.LabelClusterName: "cluster1",
			apis.LabelClusterServer: "theirs", "apps.open-cluster-management.io/data-source": source,
		}
		return s
	}
	theirs := `{"bearerToken":"theirs","tlsClientConfig":{"caData":"QQ==","insecure":false}}`
	mine := clustersecret.New("argocd", of(cluster1(), push("token-1")))
	mine.Data["server"] = []byte("https://before.example.com")
	for title, tc := range map[string]struct {
		existing *corev1.Secret
		i        clustersecret.Import
		server   string
		host     string
		whole    bool // the config is unchanged
	}{
		"by the cluster proxy": {older("cluster-proxy", proxy, theirs), of(cluster1()), proxy,
			"cluster-proxy-addon-user.multicluster-engine.svc.cluster.local", true},
		"by a service account": {older("managed-service-account", "https://old.example.com", theirs), of(cluster1()),
			"https://old.example.com", "old.example.com", true},
		"without verification": {older("legacy", "https://old.example.com", `{"tlsClientConfig":{"insecure":true}}`), of(cluster1()),
			"https://old.example.com", "old.example.com", true},
		"the token is missing": {older("cluster-proxy", proxy, theirs), of(cluster1(), keep), proxy,
			"cluster-proxy-addon-user.multicluster-engine.svc.cluster.local", true},
		"taken over, with a token": {older("cluster-proxy", proxy, theirs), of(cluster1(), push("token-1")), direct, "api.cluster1.example.com", false},
		"taken over, without":      {older("cluster-proxy", proxy, theirs), of(cluster1(), blank), direct, "api.cluster1.example.com", false},
		"without credentials":      {older("blank", "https://cluster1-control-plane", ""), of(cluster1()), direct, "api.cluster1.example.com", false},
		"with none in it":          {older("blank", "https://cluster1-control-plane", "{}"), of(cluster1()), direct, "api.cluster1.example.com", true},
		"ours, the token missing":  {mine, of(cluster1(), keep), "https://before.example.com", "before.example.com", true},
		"ours, not wanted":         {mine, of(cluster1()), direct, "api.cluster1.example.com", false},
	} {
		t.Run(title, func(t *testing.T) {
			existing := trimmed(t, tc.existing)
			got, changed := clustersecret.Update(existing, tc.i)
			if !changed || clustersecret.ServerOf(got) != tc.server || got.Labels[apis.LabelClusterServer] != tc.host {
				t.Errorf("the address is %s, of host %q", clustersecret.ServerOf(got), got.Labels[apis.LabelClusterServer])
			}
			if whole := string(got.Data["config"]) == string(existing.Data["config"]); whole != tc.whole {
				t.Errorf("the config was kept: %t", whole)
			}
			if again, changed := clustersecret.Update(trimmed(t, got), tc.i); changed && !tc.whole {
				t.Errorf("the next update changes it again:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func TestTrimKeepsNoCredentials(t *testing.T) {
	s := clustersecret.New("argocd", of(cluster1(), push("hidden")))
	s.Data["password"] = []byte("hidden")
	s.Annotations[corev1.LastAppliedConfigAnnotation] = `{"stringData":{"config":"hidden"}}`
	text, err := yaml.Marshal(trimmed(t, s))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range trimmed(t, s).Data {
		text = append(text, value...)
	}
	if strings.Contains(string(text), "hidden") || len(trimmed(t, s).Data) != 3 {
		t.Errorf("kept:\n%s", text)
	}
	if !strings.Contains(string(s.Data["config"]), "hidden") {
		t.Error("the input was changed")
	}
}

// TestTrimToken checks that only the credentials stay of a Secret that a cluster writes.
func TestTrimToken(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "cluster1", Name: "argocd-manager", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": long},
	}, Data: map[string][]byte{"token": []byte("t"), "ca.crt": []byte("ca"), "other": []byte(long)}}
	held := func() *corev1.Secret {
		obj, err := clustersecret.TrimToken(s.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		return obj.(*corev1.Secret)
	}
	if diff := cmp.Diff(clustersecret.CredentialsOf(s), clustersecret.CredentialsOf(held())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if data, err := yaml.Marshal(held()); err != nil || len(data) > 512 {
		t.Errorf("%d bytes are held: %v", len(data), err)
	}
	s.Data["token"] = []byte(long)
	if got := clustersecret.CredentialsOf(held()); got != nil {
		t.Errorf("a token of %d bytes is held", len(got.Token))
	}
	if got, err := clustersecret.TrimToken("tombstone"); got != "tombstone" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestOwners(t *testing.T) {
	second := types.NamespacedName{Namespace: "team", Name: "apps"}
	s := trimmed(t, clustersecret.New("argocd", of(cluster1())))
	both, changed := clustersecret.Update(s, of(cluster1(), func(i *clustersecret.Import) { i.Owner = second }))
	if !changed || !clustersecret.OwnedBy(both, owner) || !clustersecret.OwnedBy(both, second) {
		t.Fatalf("owned by %v", clustersecret.Owners(both))
	}
	one, last := clustersecret.RemoveOwner(both, owner)
	if last || clustersecret.OwnedBy(one, owner) || !clustersecret.OwnedBy(one, second) {
		t.Errorf("owned by %v, last: %t", clustersecret.Owners(one), last)
	}
	if _, last := clustersecret.RemoveOwner(one, second); !last {
		t.Error("the last owner is not the last")
	}
}

func TestRemoveClusterLabels(t *testing.T) {
	s := clustersecret.New("argocd", of(cluster1(), push("token-1")))
	s.Labels["team"] = "a"
	existing := trimmed(t, s)
	got, changed := clustersecret.RemoveClusterLabels(existing, false)
	want := maps.Clone(s.Labels)
	delete(want, "env")
	delete(want, "cloud")
	if diff := cmp.Diff(want, got.Labels); !changed || diff != "" {
		t.Error(diff)
	}
	if string(got.Data["config"]) != string(existing.Data["config"]) {
		t.Error("the credentials were touched")
	}
	if _, again := clustersecret.RemoveClusterLabels(got, false); again {
		t.Error("it changes again")
	}
	got, _ = clustersecret.RemoveClusterLabels(existing, true)
	if strings.Contains(string(got.Data["config"]), "token-1") || got.Annotations[apis.AnnotationServiceAccount] != "" {
		t.Errorf("not revoked: %v", got)
	}
	if _, again := clustersecret.RemoveClusterLabels(trimmed(t, got), true); again {
		t.Error("it changes again")
	}
}

func TestWhoseSecret(t *testing.T) {
	labels := func(kv ...string) *corev1.Secret {
		s := &corev1.Secret{}
		s.Labels = map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			s.Labels[kv[i]] = kv[i+1]
		}
		return s
	}
	for title, tc := range map[string]struct {
		secret *corev1.Secret
		want   string
	}{
		"ours":                  {clustersecret.New("argocd", of(cluster1())), "cluster1"},
		"an older controller's": {labels(apis.LabelSecretType, "cluster", apis.LabelImported, "true", apis.LabelClusterName, "c"), "c"},
		"somebody else's":       {labels(apis.LabelSecretType, "cluster"), ""},
		"a repository":          {labels(apis.LabelSecretType, "repository", apis.LabelImported, "true", apis.LabelClusterName, "c"), ""},
		"no cluster":            {labels(apis.LabelSecretType, "cluster", apis.LabelImported, "true"), ""},
	} {
		if got := clustersecret.Cluster(tc.secret); got != tc.want {
			t.Errorf("%s: %q", title, got)
		}
	}
}

func TestServers(t *testing.T) {
	for title, tc := range map[string]struct {
		urls []string
		want []string
	}{
		"as it is":                 {[]string{"https://api.example.com:6443"}, []string{"https://api.example.com:6443"}},
		"as Argo CD compares it":   {[]string{"HTTPS://API.example.com:6443/"}, []string{"https://api.example.com:6443"}},
		"with a path":              {[]string{"https://proxy.example.com/k8s/clusters/c-1/"}, []string{"https://proxy.example.com/k8s/clusters/c-1"}},
		"several":                  {[]string{"http://a", "https://b", "https://c"}, []string{"https://b", "https://c"}},
		"an address of version 6":  {[]string{"https://[2001:db8::1]:6443"}, []string{"https://[2001:db8::1]:6443"}},
		"not verified":             {[]string{"http://api.example.com"}, nil},
		"no scheme":                {[]string{"api.example.com:6443"}, nil},
		"no host":                  {[]string{"https:///x"}, nil},
		"a password":               {[]string{"https://u:p@api.example.com"}, nil},
		"a query":                  {[]string{"https://api.example.com?x=1"}, nil},
		"the hub itself":           {[]string{"https://kubernetes.default.svc", "https://Kubernetes.default.svc.local:443", "https://kubernetes"}, nil},
		"another's placeholder":    {[]string{"https://cluster2-control-plane"}, nil},
		"its own":                  {[]string{"https://cluster1-control-plane"}, []string{"https://cluster1-control-plane"}},
		"one of a development kit": {[]string{"https://cluster2-control-plane:6443"}, []string{"https://cluster2-control-plane:6443"}},
		"endless":                  {[]string{"https://" + strings.Repeat("a", 600)}, nil},
		"control characters":       {[]string{"https://a\nb"}, nil},
	} {
		t.Run(title, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, clustersecret.Servers(fixture.Cluster("cluster1").URL(tc.urls...).Obj())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzServers checks any text as a cluster's address.
func FuzzServers(f *testing.F) {
	for _, seed := range []string{"https://a", "https://kubernetes.default.svc", "https://[::1]/", "https://a%00b", "//", "https://.:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		c := &clusterv1.ManagedCluster{}
		c.Name, c.Spec.ManagedClusterClientConfigs = "cluster1", []clusterv1.ClientConfig{{URL: raw}}
		for _, server := range clustersecret.Servers(c) {
			if !strings.HasPrefix(server, "https://") || strings.HasSuffix(server, "/") || strings.HasPrefix(server, "https://kubernetes.default.svc") {
				t.Errorf("%q became %q", raw, server)
			}
			i := clustersecret.Import{Cluster: c, Owner: owner, Server: server}
			clustersecret.New("argocd", i)
		}
	})
}
