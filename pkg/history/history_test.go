package history_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/history"
	"github.com/towline-io/towline/pkg/source"
)

const (
	plain  = `{"repoURL":"https://git.example.com/apps.git","path":"web","targetRevision":"HEAD"}`
	evil   = `{"repoURL":"https://evil.example.com/x.git","path":"web","targetRevision":"HEAD"}`
	helm   = `{"repoURL":"https://charts.example.com","chart":"web","targetRevision":"1.2.3","helm":{"parameters":[{"name":"tag","value":"v1"}]}}`
	helmV2 = `{"repoURL":"https://charts.example.com","chart":"web","targetRevision":"1.2.3","helm":{"parameters":[{"name":"tag","value":"v2"}]}}`
	bare   = `{"repoURL":"https://charts.example.com","chart":"web","targetRevision":"1.2.3"}`
	values = `{"repoURL":"https://git.example.com/values.git","ref":"values"}`
)

// entries returns a history with the given fields, in the form of the API.
func entries(t *testing.T, fields ...string) []argocd.Deployment {
	t.Helper()
	var out []argocd.Deployment
	for _, f := range fields {
		d := argocd.Deployment{Revision: "abc", DeployedAt: "2026-01-02T03:04:05Z"}
		if err := json.Unmarshal([]byte(f), &d); err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

func one(own string) string { return `{"source":` + own + `}` }

// there returns a source in the form of a cluster that reads through the hub.
func there(own string) string {
	var s argocd.Source
	if err := json.Unmarshal([]byte(own), &s); err != nil {
		panic(err)
	}
	out, err := json.Marshal(source.Moved(s, source.At("https://agent.example.com", "team", s.RepoURL)))
	if err != nil {
		panic(err)
	}
	return string(out)
}

func several(sources ...string) string { return `{"sources":[` + strings.Join(sources, ",") + `]}` }

// TestShown checks that a cluster cannot add a source to the shown history.
func TestShown(t *testing.T) {
	for title, tc := range map[string]struct {
		spec            string
		reported, shown []string
		want            []string
	}{
		"the source of the spec":          {one(plain), []string{one(plain)}, nil, []string{one(plain)}},
		"a planted repository":            {one(plain), []string{one(plain), one(evil)}, nil, []string{one(plain)}},
		"a source of before, shown":       {one(evil), []string{one(plain), one(evil)}, []string{one(plain)}, []string{one(plain), one(evil)}},
		"a source of before, never shown": {one(plain), []string{one(helm), one(plain)}, nil, []string{one(plain)}},
		"a history that is not reported":  {one(plain), nil, []string{one(plain)}, nil},
		"rendering options of the spec":   {one(helm), []string{one(helm)}, nil, []string{one(helm)}},
		"other rendering options":         {one(helmV2), []string{one(helm), one(helmV2)}, nil, []string{one(helmV2)}},
		"other rendering options, shown":  {one(helmV2), []string{one(helm)}, []string{one(helm)}, []string{one(helm)}},
		"planted rendering options":       {one(bare), []string{one(helm)}, nil, nil},
		"rendering options left out":      {one(helm), []string{one(bare)}, nil, nil},
		"several sources":                 {several(helm, values), []string{several(helm, values)}, nil, []string{several(helm, values)}},
		"one of several, replaced":        {several(helm, values), []string{several(helm, evil)}, nil, nil},
		"several, in another order":       {several(helm, values), []string{several(values, helm)}, nil, nil},
		"several, mixed from two entries": {several(helmV2, values), []string{several(helm, plain)}, []string{several(helm, values), several(helmV2,
			plain)}, nil},
		"one in place of several": {several(plain), []string{one(plain)}, nil, nil},
		"both one and several":    {one(plain), []string{`{"source":` + plain + `,"sources":[` + evil + `]}`}, nil, nil},
		"no source":               {one(plain), []string{`{}`}, nil, nil},
		"a spec without a source": {`{}`, []string{one(evil)}, nil, nil},
		"a spec that is no JSON":  {`{`, []string{one(evil)}, nil, nil},
		"a hydrated source": {hydrated(""), []string{one(`{"repoURL":"https://dry","path":"p","targetRevision":"env"}`)}, nil,
			[]string{one(`{"repoURL":"https://dry","path":"p","targetRevision":"env"}`)}},
		"hydrated to another repository": {hydrated("https://wet"), []string{one(`{"repoURL":"https://wet","path":"p","targetRevision":"env"}`),
			one(`{"repoURL":"https://dry","path":"p","targetRevision":"env"}`)}, nil,
			[]string{one(`{"repoURL":"https://wet","path":"p","targetRevision":"env"}`)}},
		"empty values that Argo CD omits": {one(`{"repoURL":"a","path":"","directory":{"recurse":false}}`), []string{one(`{"repoURL":"a"}`)}, nil,
			[]string{one(`{"repoURL":"a","path":"","directory":{"recurse":false}}`)}},
		"empty objects that Argo CD adds": {one(`{"repoURL":"a","directory":{"recurse":true}}`),
			[]string{one(`{"directory":{"jsonnet":{},"recurse":true},"repoURL":"a"}`)}, nil, []string{one(`{"repoURL":"a","directory":{"recurse":true}}`)}},
		"an empty entry of a list, moved": {one(`{"repoURL":"a","helm":{"valueFiles":["","b"]}}`),
			[]string{one(`{"repoURL":"a","helm":{"valueFiles":["b",""]}}`)}, nil, nil},
		"a number that is not the spec's": {one(`{"repoURL":"a","helm":{"valuesObject":{"n":1}}}`),
			[]string{one(`{"repoURL":"a","helm":{"valuesObject":{"n":2}}}`)}, nil, nil},
		"a text in place of a number": {one(`{"repoURL":"a","helm":{"valuesObject":{"n":1}}}`),
			[]string{one(`{"repoURL":"a","helm":{"valuesObject":{"n":"1"}}}`)}, nil, nil},
		"at the agent":                     {one(plain), []string{one(there(plain))}, nil, []string{one(plain)}},
		"at the agent, before and after":   {one(plain), []string{one(plain), one(there(plain))}, nil, []string{one(plain), one(plain)}},
		"rendering options, at the agent":  {one(helm), []string{one(there(helm))}, nil, []string{one(helm)}},
		"several sources, at the agent":    {several(helm, values), []string{several(there(helm), there(values))}, nil, []string{several(helm, values)}},
		"shown before, at the agent":       {one(values), []string{one(there(plain))}, []string{one(plain)}, []string{one(plain)}},
		"another repository, at the agent": {one(plain), []string{one(there(evil))}, nil, nil},
		"planted options, at the agent":    {one(bare), []string{one(there(helm))}, nil, nil},
		"another path, at the agent":       {one(plain), []string{one(strings.Replace(there(plain), "web", "x", 1))}, nil, nil},
	} {
		t.Run(title, func(t *testing.T) {
			reported := entries(t, tc.reported...)
			history.Stamp(reported)
			got := history.Shown(reported, entries(t, tc.shown...), []byte(tc.spec))
			if diff := cmp.Diff(entries(t, tc.want...), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func hydrated(to string) string {
	return `{"sourceHydrator":{"drySource":{"repoURL":"https://dry","path":"x","targetRevision":"HEAD"},` +
		`"syncSource":{"repoURL":"` + to + `","targetBranch":"env","path":"p"}},"source":` + evil + `}`
}

// TestShownOfAnOlderAgent checks that a report without a digest does not match a source with rendering options.
func TestShownOfAnOlderAgent(t *testing.T) {
	for spec, want := range map[string]int{one(plain): 1, one(helm): 0} {
		reported := entries(t, one(plain), one(bare))
		if got := history.Shown(reported, nil, []byte(spec)); len(got) != want {
			t.Errorf("%s: %+v", spec, got)
		}
	}
}

// TestShownIsBounded checks that inline values in every entry cannot make an Application too large for the API
// server.
func TestShownIsBounded(t *testing.T) {
	large := one(`{"repoURL":"a","helm":{"values":"` + strings.Repeat("x", 50<<10) + `"}}`)
	reported := entries(t, large, large, large, one(plain))
	for i := range reported {
		reported[i].ID = int64(i)
	}
	history.Stamp(reported)
	got := history.Shown(reported, entries(t, one(plain)), []byte(large))
	if len(got) != 3 || got[0].ID != 1 || got[2].ID != 3 {
		t.Errorf("%d entries", len(got))
	}
}

// TestStampLeavesOutRenderingOptions checks that reports have no rendering options. The options may contain a
// password, and agents of other clusters may read the reports.
func TestStampLeavesOutRenderingOptions(t *testing.T) {
	reported := entries(t, one(helm), several(helm, values))
	history.Stamp(reported)
	data, err := json.Marshal(reported)
	if err != nil || strings.Contains(string(data), "parameters") || strings.Count(string(data), `"digest":"`) != 3 {
		t.Errorf("%v, %s", err, data)
	}
}

// FuzzShown checks that each shown source is a source of the hub, for any report.
func FuzzShown(f *testing.F) {
	f.Add([]byte(`[{"id":1,"source":`+evil+`}]`), []byte(one(plain)))
	f.Add([]byte(`[{"id":1,"sources":[`+helm+`,`+values+`]}]`), []byte(several(helm, values)))
	f.Fuzz(func(t *testing.T, reported, spec []byte) {
		var list []argocd.Deployment
		if json.Unmarshal(reported, &list) != nil {
			return
		}
		var own struct {
			Source  *argocd.Source
			Sources []argocd.Source
		}
		if json.Unmarshal(spec, &own) != nil || strings.Contains(strings.ToLower(string(spec)), "sourcehydrator") {
			return
		}
		history.Stamp(list)
		for _, d := range history.Shown(list, nil, spec) {
			if d.Source != nil && !cmp.Equal(d.Source, own.Source) || d.Source == nil && !cmp.Equal(d.Sources, own.Sources) {
				t.Errorf("it shows %+v", d)
			}
		}
	})
}
