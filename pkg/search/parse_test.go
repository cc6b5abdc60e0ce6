package search

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

var (
	guestbook = Key{Cluster: "c1", Namespace: "argocd", Name: "guestbook"}
	neighbour = Key{Cluster: "c2", Namespace: "argocd", Name: "neighbour"}
)

const (
	guestbookItem = `{"_uid":"c1/1","cluster":"c1","namespace":"argocd","name":"guestbook"%s}`
	neighbourItem = `{"_uid":"c2/1","cluster":"c2","namespace":"argocd","name":"neighbour"}`
	service       = `{"kind":"Service","apiversion":"v1","cluster":"c1","namespace":"default","name":"web","_relatedUids":["c1/1"]%s}`
)

// answerOf returns an answer with the given items, as JSON.
func answerOf(items, related []string) []byte {
	return fmt.Appendf(nil, `{"data":{"searchResult":[{"items":[%s],"related":[{"kind":"x","items":[%s]}]}]}}`,
		strings.Join(items, ","), strings.Join(related, ","))
}

func mustParse(t *testing.T, data []byte) *Answer {
	t.Helper()
	answer, err := parse(data, []Key{guestbook, neighbour})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// quoted returns a JSON list as a JSON string.
func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

func TestParseItems(t *testing.T) {
	web := argocd.ResourceStatus{Version: "v1", Kind: "Service", Namespace: "default", Name: "web"}
	webItem := fmt.Sprintf(service, "")
	gone := func(r argocd.ResourceStatus) argocd.ResourceStatus {
		r.Status, r.Health = "OutOfSync", &argocd.Health{Status: "Missing"}
		return r
	}
	has := func(r ...argocd.ResourceStatus) Application { return Application{Resources: r} }
	shows := func(c ...argocd.Condition) Application { return Application{Conditions: c} }
	but := func(old, replacement string) []string { return []string{strings.Replace(webItem, old, replacement, 1)} }
	missing := func(list string) string { return `,"_missingResources":` + quoted(list) }
	for title, tc := range map[string]struct {
		more     string // JSON added to the Application's item
		related  []string
		want     Application
		rejected int
	}{
		"a resource":                     {related: []string{webItem}, want: has(web)},
		"a resource twice":               {related: []string{webItem, webItem}, want: has(web)},
		"a resource with an empty owner": {related: []string{fmt.Sprintf(service, `,"_ownerUID":""`)}, want: has(web)},
		"what a controller made":         {related: []string{fmt.Sprintf(service, `,"_ownerUID":"c1/7"`)}},
		"of another cluster":             {related: but(`"cluster":"c1"`, `"cluster":"c2"`)},
		"of a cluster not asked for":     {related: but(`"cluster":"c1"`, `"cluster":"c3"`), rejected: 1},
		"not of the Application":         {related: but(`["c1/1"]`, `["c1/2"]`)},
		"of two Applications":            {related: but(`["c1/1"]`, `["c1/2",7,"c1/1"]`), want: has(web)},
		"of a list that is none":         {related: but(`["c1/1"]`, `"c1/1"`)},
		"a bad one among good ones":      {related: []string{`7`, `null`, `"x"`, `{}`, webItem}, want: has(web), rejected: 4},
		"a name with control characters": {related: but(`"web"`, `"we\u001bb"`), rejected: 1},
		"a name with a slash":            {related: but(`"web"`, `"../web"`), rejected: 1},
		"a name that is a number":        {related: but(`"web"`, `7`), rejected: 1},
		"a kind that is none":            {related: but(`"Service"`, `"<b>"`), rejected: 1},
		"a group and version in one": {related: but(`"v1"`, `"apps/v1"`),
			want: has(argocd.ResourceStatus{Group: "apps", Version: "v1", Kind: "Service", Namespace: "default", Name: "web"})},
		"an RBAC name": {related: but(`"web"`, `"system:Web"`),
			want: has(argocd.ResourceStatus{Version: "v1", Kind: "Service", Namespace: "default", Name: "system:Web"})},
		"missing, in search's words": {
			more: missing(`[{"kind":"Deployment","name":"a","namespace":"x","apigroup":"apps","apiversion":"v1"}]`),
			want: has(gone(argocd.ResourceStatus{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "x", Name: "a"}))},
		"missing, in Argo CD's words": {
			more: missing(`[{"kind":"Deployment","name":"a","namespace":"x","group":"apps","version":"v1"}]`),
			want: has(gone(argocd.ResourceStatus{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "x", Name: "a"}))},
		"missing in search, not to Argo CD": {more: missing(`[{"kind":"Odd","name":"a","health":{"status":"Healthy"}}]`),
			want: has(argocd.ResourceStatus{Kind: "Odd", Name: "a", Health: &argocd.Health{Status: "Healthy"}})},
		"missing with a made-up health": {more: missing(`[{"kind":"Odd","name":"a","health":{"status":"Perfect"}}]`),
			want: has(gone(argocd.ResourceStatus{Kind: "Odd", Name: "a"}))},
		"missing of a kind not listed": {more: missing(`[{"kind":"EndpointSlice","name":"a"}]`)},
		"missing: a bad one": {more: missing(`[7,{"kind":"Service"},{"kind":"Service","name":"a"}]`),
			want: has(gone(argocd.ResourceStatus{Kind: "Service", Name: "a"})), rejected: 2},
		"missing: no list":   {more: missing(`{"kind":"Service"}`), rejected: 1},
		"missing: no JSON":   {more: missing(`[{`), rejected: 1},
		"missing: no string": {more: `,"_missingResources":[{"kind":"Service","name":"a"}]`},
		"there after all, but said to be missing": {
			more:    missing(`[{"kind":"Service","name":"web","namespace":"default","version":"v1"}]`),
			related: []string{webItem}, want: has(gone(web))},
		"conditions": {
			more: `,"_conditionSyncError":"no rights","_conditionOperationError":"one or more failed","_conditionInvented":"x"`,
			want: shows(argocd.Condition{Type: "OperationError", Message: "one or more failed"}, argocd.Condition{Type: "SyncError", Message: "no rights"})},
		"a hostile condition": {more: `,"_conditionSyncError":"a\u001b[2J\u202eb"`,
			want: shows(argocd.Condition{Type: "SyncError", Message: "a [2J b"})},
		"a long condition": {more: `,"_conditionSyncError":"` + strings.Repeat("x", 1<<20) + `"`,
			want: shows(argocd.Condition{Type: "SyncError", Message: strings.Repeat("x", 2045) + "…"})},
		"conditions that are none": {more: `,"_conditionSyncError":{"a":1},"_conditionUnknownError":"\u0000"`, rejected: 2},
	} {
		t.Run(title, func(t *testing.T) {
			got := mustParse(t, answerOf([]string{fmt.Sprintf(guestbookItem, tc.more), neighbourItem}, tc.related))
			want := &Answer{Applications: map[Key]*Application{guestbook: &tc.want, neighbour: {}}, Rejected: tc.rejected}
			if diff := cmp.Diff(want, got, emptyIsNil); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

var emptyIsNil = cmp.Transformer("emptyIsNil", func(r []argocd.ResourceStatus) []argocd.ResourceStatus {
	if len(r) == 0 {
		return nil
	}
	return r
})

func TestParseLeavesOutKinds(t *testing.T) {
	for _, kind := range []string{"Pod", "ReplicaSet", "EndpointSlice", "Application", "ApplicationSet", "Cluster"} {
		item := strings.Replace(fmt.Sprintf(service, ""), "Service", kind, 1)
		got := mustParse(t, answerOf([]string{fmt.Sprintf(guestbookItem, "")}, []string{item}))
		if n := len(got.Applications[guestbook].Resources); n > 0 || got.Rejected > 0 {
			t.Errorf("%s: %d resources, %d rejected", kind, n, got.Rejected)
		}
	}
}

// TestParseUnknown checks that unrequested clusters, unrequested Applications and invalid items do not affect the
// wanted Applications.
func TestParseUnknown(t *testing.T) {
	items := []string{
		`7`, `null`, `[]`, `{}`, `{"cluster":7}`,
		`{"_uid":"c9/1","cluster":"c9","namespace":"argocd","name":"guestbook","_conditionSyncError":"x"}`, // another cluster
		`{"_uid":"c1/1","cluster":"c1","namespace":"argocd","name":"other","_conditionSyncError":"x"}`,     // a borrowed UID
		`{"_uid":"c1/1","cluster":"c2","namespace":"argocd","name":"neighbour","_conditionSyncError":"x"}`, // of another cluster
		fmt.Sprintf(guestbookItem, ""),
	}
	got := mustParse(t, answerOf(items, []string{fmt.Sprintf(service, "")}))
	if len(got.Applications) != 2 || len(got.Applications[guestbook].Resources) != 1 || len(got.Applications[guestbook].Conditions) != 0 ||
		len(got.Applications[neighbour].Resources) != 0 || got.Rejected != 6 {
		t.Errorf("got %+v, rejected %d", got.Applications, got.Rejected)
	}
}

// TestParseTwice checks an index with two Applications of the same name: the earlier Application and the current one.
func TestParseTwice(t *testing.T) {
	first := fmt.Sprintf(guestbookItem, `,"_conditionSyncError":"b"`)
	second := strings.Replace(fmt.Sprintf(guestbookItem, `,"_conditionSyncError":"a"`), "c1/1", "c1/2", 1)
	other := strings.NewReplacer("c1/1", "c1/2", "web", "api").Replace(fmt.Sprintf(service, ""))
	related := []string{fmt.Sprintf(service, ""), other}
	a := mustParse(t, answerOf([]string{first, second}, related))
	slices.Reverse(related)
	b := mustParse(t, answerOf([]string{second, first}, related))
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("the order of items counts:\n%s", diff)
	}
	if got := a.Applications[guestbook]; len(got.Resources) != 2 || got.Conditions[0].Message != "a" {
		t.Errorf("got %+v", got)
	}
}

// TestParseThousands checks that missing resources are kept first, and that the neighbouring cluster loses no resource.
func TestParseThousands(t *testing.T) {
	related := make([]string, 0, maxOfCluster+100)
	for i := range maxOfCluster + 100 {
		related = append(related, strings.Replace(fmt.Sprintf(service, ""), `"web"`, fmt.Sprintf(`"web-%06d"`, i), 1))
	}
	related = append(related, strings.NewReplacer("c1", "c2").Replace(fmt.Sprintf(service, "")))
	gone := `,"_missingResources":` + quoted(`[{"kind":"Zebra","name":"zzz"}]`)
	data := answerOf([]string{fmt.Sprintf(guestbookItem, gone), neighbourItem}, related)
	before := live()
	got := mustParse(t, data)
	if held := live() - before; held > 1<<20 {
		t.Errorf("%d bytes are held of an answer of %d", held, len(data))
	}
	runtime.KeepAlive(data)
	app := got.Applications[guestbook]
	if len(app.Resources) != maxResources || app.Omitted != maxOfCluster+100+1-maxResources || cap(app.Resources) != maxResources {
		t.Errorf("%d are kept and %d left out", len(app.Resources), app.Omitted)
	}
	if last := app.Resources[maxResources-1]; last.Kind != "Zebra" || last.Health == nil {
		t.Errorf("what is missing was left out for %v", last)
	}
	if n := len(got.Applications[neighbour].Resources); n != 1 {
		t.Errorf("the neighbour has %d resources", n)
	}
}

// live returns the memory in use.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestParseBoundsListsFirst checks that a list of millions of empty entries costs about its bytes, not 24 and more
// bytes for each entry.
func TestParseBoundsListsFirst(t *testing.T) {
	long := "[" + strings.Repeat("0,", 3<<17) + "0]"
	for title, answer := range map[string][]byte{
		"missing": answerOf([]string{fmt.Sprintf(guestbookItem, `,"_missingResources":`+quoted(long))}, nil),
		"uids":    answerOf([]string{fmt.Sprintf(guestbookItem, "")}, []string{strings.Replace(fmt.Sprintf(service, ""), `["c1/1"]`, long, 1)}),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		mustParse(t, answer)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
			t.Errorf("%s: %d bytes of an answer took %d", title, len(answer), took)
		}
	}
	list := "[" + strings.Repeat(`{"kind":"Service","name":"a"},`, maxMissing) + `{"kind":"Service","name":"b"}]`
	got := mustParse(t, answerOf([]string{fmt.Sprintf(guestbookItem, `,"_missingResources":`+quoted(list))}, nil))
	if len(got.Applications[guestbook].Resources) != 1 || got.Rejected != 1 {
		t.Errorf("the first %d are not what counts: %+v, %d rejected", maxMissing, got.Applications[guestbook], got.Rejected)
	}
}
