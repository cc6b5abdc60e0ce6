package fleet

import (
	"slices"
	"strings"
	"testing"
)

func TestOptionsDefaults(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Clusters, []string{"cluster1", "cluster2"}) || o.LeaseSeconds != 2 || o.ReadyTimeout == 0 || o.Progress == nil {
		t.Errorf("got %+v", o)
	}
	bare := Options{Dir: t.TempDir(), HubControlPlaneOnly: true}
	if err := bare.complete(); err != nil || len(bare.Clusters) != 0 {
		t.Errorf("got %v, %v", bare.Clusters, err)
	}
	none := Options{Dir: t.TempDir(), Clusters: ClusterNames(0)}
	if err := none.complete(); err != nil || len(none.Clusters) != 0 {
		t.Errorf("got %v, %v", none.Clusters, err)
	}
}

func TestVersionsOfArgoCDTakeTurns(t *testing.T) {
	for environment, tc := range map[string]struct{ given, want []string }{
		"":       {nil, []string{"3", "3", "2.14", "3"}},
		"3":      {nil, []string{"3", "3", "3", "3"}},
		"2.14,3": {nil, []string{"2.14", "2.14", "3", "2.14"}},
		"2.14":   {[]string{"3"}, []string{"3", "3", "3", "3"}},
	} {
		t.Run(environment, func(t *testing.T) {
			t.Setenv(ArgoCDEnv, environment)
			o := Options{Dir: t.TempDir(), Clusters: ClusterNames(3), ArgoCD: tc.given}
			if err := o.complete(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, plane := range append([]string{hubName}, o.Clusters...) {
				got = append(got, o.argoCDOn(plane).version)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestEnds checks that the environment chooses the versions, and that the user can still choose Argo CD.
func TestEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		given       Options
		environment string
		end         End
		argo        []string
		sets        string
	}{
		"usual":                 {Options{}, "", "", []string{"3", "2.14"}, "fleet argocd"},
		"oldest":                {Options{}, OldestEnv, Oldest, []string{"2.14"}, "fleet argocd kubernetes ocm"},
		"newest":                {Options{}, NewestEnv, Newest, []string{"3.6", "2.14"}, "fleet argocd newest newest"},
		"newest by an option":   {Options{End: Newest}, "", Newest, []string{"3.6", "2.14"}, "fleet argocd newest newest"},
		"oldest with Argo CD 3": {Options{ArgoCD: []string{"3"}}, OldestEnv, Oldest, []string{"3"}, "fleet kubernetes ocm"},
		"Argo CD 3.6 alone":     {Options{ArgoCD: []string{"3.6", "3.6"}}, "", "", []string{"3.6", "3.6"}, "fleet newest"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{ArgoCDEnv, OldestEnv, NewestEnv} {
				t.Setenv(variable, "")
			}
			if tc.environment != "" {
				t.Setenv(tc.environment, "1")
			}
			o := tc.given
			o.Dir = t.TempDir()
			if err := o.complete(); err != nil {
				t.Fatal(err)
			}
			if o.End != tc.end || !slices.Equal(o.ArgoCD, tc.argo) {
				t.Errorf("got the end %q and Argo CD %v", o.End, o.ArgoCD)
			}
			var sets []string
			for _, set := range setsFor(o.ArgoCD, o.End) {
				sets = append(sets, set.name)
			}
			if got := strings.Join(sets, " "); got != tc.sets {
				t.Errorf("got the sets %s", got)
			}
			if got := o.End.ocm().name; (got == "ocm") != (tc.end == Oldest) {
				t.Errorf("the set of OCM is %s", got)
			}
		})
	}
}

// TestBothEnds checks that the oldest and the newest versions together are an error, for a fleet, a build and the assets.
func TestBothEnds(t *testing.T) {
	t.Setenv(OldestEnv, "1")
	t.Setenv(NewestEnv, "1")
	b := Builder{CacheDir: t.TempDir()}
	_, build := b.Build(t.Context())
	_, assets := b.Assets(t.Context())
	for _, err := range []error{(&Options{Dir: t.TempDir()}).complete(), build, assets} {
		if err == nil || !strings.Contains(err.Error(), "both TOWLINE_FLEET_OLDEST and TOWLINE_FLEET_NEWEST are set") {
			t.Errorf("got %v", err)
		}
	}
}

func TestOptionsThatAreWrongSayWhatToDo(t *testing.T) {
	tests := map[string]struct {
		opts Options
		want string
	}{
		"twice":           {Options{Clusters: []string{"a", "a"}}, `cluster name "a" is used twice`},
		"the hub's":       {Options{Clusters: []string{"hub"}}, "give each cluster its own name"},
		"no namespace":    {Options{Clusters: []string{"Cluster_1"}}, "cannot be a namespace"},
		"unknown labels":  {Options{ClusterLabels: map[string]map[string]string{"x": nil}}, `labels are given for "x"`},
		"labels of hub":   {Options{ClusterLabels: map[string]map[string]string{"hub": nil}}, `labels are given for "hub"`},
		"privileged port": {Options{BasePort: 80}, "choose one from 1024 to 65000"},
		"port too high":   {Options{BasePort: 65001}, "out of range"},
		"lease":           {Options{LeaseSeconds: -1}, "give 1 or more"},
		"Argo CD":         {Options{ArgoCD: []string{"2.13"}}, "name some of [3 2.14 3.6]"},
		"end":             {Options{End: "middle"}, "name one of [oldest newest]"},
		"no Argo CD":      {Options{ArgoCD: []string{}}, "name a version of [3 2.14 3.6] or more"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.opts.Dir = t.TempDir()
			if err := tc.opts.complete(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestDefaultDirFromEnvironment(t *testing.T) {
	t.Setenv(DirEnv, "/somewhere/else")
	if dir, err := DefaultDir(); err != nil || dir != "/somewhere/else" {
		t.Errorf("got %q, %v", dir, err)
	}
	t.Setenv(DirEnv, "")
	if dir, err := DefaultDir(); err != nil || !strings.HasSuffix(dir, "/.fleet") {
		t.Errorf("got %q, %v", dir, err)
	}
}

func TestTransports(t *testing.T) {
	for _, tc := range []struct {
		o    Options
		want string
	}{
		{Options{}, ""},
		{Options{Transport: TransportMaestro}, ""},
		{Options{Transport: "pigeon"}, `transport "pigeon" is not among those of a fleet`},
		{Options{Transport: TransportMaestro, HubControlPlaneOnly: true}, ""},
	} {
		tc.o.Dir = t.TempDir()
		err := tc.o.complete()
		if (tc.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.o.Transport, err, tc.want)
		}
		if err == nil && !slices.Contains(Transports(), tc.o.Transport) {
			t.Errorf("no transport is chosen: %q", tc.o.Transport)
		}
	}
}
