package faults

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"io"
	"maps"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func TestRead(t *testing.T) {
	const point = "pt0123abcd"
	for name, tc := range map[string]struct {
		method, url, body string
		want              request
	}{
		"a patch of a point's Application": {
			"PATCH", "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/" + point, "{}",
			request{verb: "PATCH", resource: "applications", point: point},
		},
		"its work is made": {
			"POST", "/apis/work.open-cluster-management.io/v1/namespaces/cluster1/manifestworks?fieldManager=towline",
			`{"metadata":{"name":"` + point + `-12345"}}`, request{verb: "POST", resource: "manifestworks", point: point},
		},
		"a trial is no write": {
			"POST", "/apis/work.open-cluster-management.io/v1/namespaces/cluster1/manifestworks?dryRun=All", point,
			request{verb: "POST", resource: "manifestworks", passing: true},
		},
		"nor is an event": {
			"POST", "/apis/events.k8s.io/v1/namespaces/argocd/events", point, request{verb: "POST", resource: "events", passing: true},
		},
		"nor is a read": {
			"GET", "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/" + point, "", request{verb: "GET", resource: "applications"},
		},
		"a status": {
			"PUT", "/apis/a/v1/namespaces/n/things/" + point + "/status", "", request{verb: "PUT", resource: "things/status", point: point},
		},
		"a watch of all": {
			"GET", "/apis/argoproj.io/v1alpha1/applications?watch=true", "", request{verb: "GET", resource: "applications", watches: true},
		},
		"the core's": {
			"DELETE", "/api/v1/namespaces/argocd/secrets/" + point + "-credential", "", request{verb: "DELETE", resource: "secrets", point: point},
		},
		"a namespace itself": {"PATCH", "/api/v1/namespaces/" + point, "", request{verb: "PATCH", resource: "namespaces", point: point}},
		"no resource":        {"GET", "/version", "", request{verb: "GET", resource: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), tc.method, tc.url, nil)
			got := read(r, []byte(tc.body))
			got.name = "" // the point is cut from the name
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestPointNames(t *testing.T) {
	for _, name := range []string{"move/kill-after/3", "create/409+kill-before/1+2", "delete/watch-expires/manifestworks"} {
		p, err := ParsePoint(name)
		if err != nil || p.String() != name {
			t.Errorf("%s is read as %v, %v", name, p, err)
		}
	}
	for _, name := range []string{"move", "move/kill-after/0", "move/none/1", "move/409+410/1", "move/watch-ends/secrets", "move/409/x"} {
		if p, err := ParsePoint(name); err == nil {
			t.Errorf("%s is read as %v", name, p)
		}
	}
}

// TestPoints: a seed always gives the same points, without duplicates.
func TestPoints(t *testing.T) {
	writes := map[string]int{"create": 3, "move": 9}
	singles := Singles(writes)
	watched := 0
	for _, flow := range Flows() {
		if watched += len(WatchedResources); !flow.Agent {
			watched-- // reports
		}
	}
	if want := 12*(len(Kinds)+len(Kills)) + watched*len(WatchKinds); len(singles) != want {
		t.Errorf("%d points of one fault, want %d", len(singles), want)
	}
	names := func(points []Point) (out []string) {
		for _, p := range points {
			out = append(out, p.String())
		}
		return out
	}
	one, other := names(Pairs(writes, 50, rand.New(rand.NewSource(7)))), names(Pairs(writes, 50, rand.New(rand.NewSource(7))))
	if len(one) != 50 || !slices.Equal(one, other) {
		t.Errorf("%d pairs %v, and %v", len(one), one, other)
	}
	slices.Sort(one)
	if len(slices.Compact(one)) != 50 {
		t.Errorf("a pair comes twice: %v", one)
	}
	for _, name := range one {
		if p, err := ParsePoint(name); err != nil || len(p.Faults) != 2 || p.Faults[0].N >= p.Faults[1].N || p.Faults[0].Kind.kills() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBrief: Brief has all kinds of faults.
func TestBrief(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range Brief {
		p, err := ParsePoint(name)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(p.Watch)] = true
		for _, f := range p.Faults {
			seen[string(f.Kind)] = true
		}
	}
	for _, kind := range slices.Concat(Kinds, Kills) {
		if !seen[string(kind)] {
			t.Errorf("there is no point of %s", kind)
		}
	}
	for _, kind := range WatchKinds {
		if !seen[string(kind)] {
			t.Errorf("there is no point of %s", kind)
		}
	}
}

// TestFlowNames: the name of a flow is unique.
func TestFlowNames(t *testing.T) {
	seen := map[string]bool{}
	for _, flow := range Flows() {
		if seen[flow.Name] || strings.Contains(flow.Name, "/") {
			t.Errorf("flow %q", flow.Name)
		}
		seen[flow.Name] = true
	}
	var names []string
	for _, point := range Brief {
		flow, _, _ := strings.Cut(point, "/")
		names = append(names, flow)
	}
	for _, b := range PlantedBugs {
		names = append(names, b.flow)
	}
	for _, name := range names {
		if !seen[name] {
			t.Errorf("there is no flow %q", name)
		}
	}
}

// TestDiff: two runs of a flow have equal states, and the comparison detects all other differences.
func TestDiff(t *testing.T) {
	const key = "hub: Application"
	one := State{key: plain(
		`{"uid":"4a491d0e-0000-4000-8000-000000000001","at":"2026-11-23T18:00:00Z","work":"pt0123abcd-1f2e3"}`, "pt0123abcd",
	)}
	other := State{key: plain(
		`{"uid":"5b491d0e-0000-4000-8000-000000000002","at":"2026-11-23T19:30:00Z","work":"pt4567abcd-9f2e3"}`, "pt4567abcd",
	)}
	if diff := one.diff(other); diff != "" {
		t.Errorf("the same: %s", diff)
	}
	for name, tc := range map[string]struct {
		end  State
		says string
	}{
		"lost":      {State{}, "is missing"},
		"more":      {State{key: one[key], "hub: ManifestWork": "x"}, "should not be there"},
		"different": {State{key: `{"uid":"none"}`}, `+ {"uid":"none"}`},
	} {
		if diff := one.diff(tc.end); !strings.Contains(diff, tc.says) {
			t.Errorf("%s: %q does not say %q", name, diff, tc.says)
		}
	}
}

func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// served returns a proxy in front of an API server that counts its requests.
func served(t *testing.T) (p *Proxy, client *http.Client, carriedOut *int) {
	t.Helper()
	carriedOut = new(int)
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*carriedOut++
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(upstream.Close)
	p, err := NewProxy(&rest.Config{Host: upstream.URL, TLSClientConfig: rest.TLSClientConfig{CAData: pemOf(upstream)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	transport, err := rest.TransportFor(&rest.Config{Host: p.address, TLSClientConfig: rest.TLSClientConfig{CAData: p.cert}})
	if err != nil {
		t.Fatal(err)
	}
	return p, &http.Client{Transport: transport, Timeout: 2 * delay}, carriedOut
}

// TestProxy: only the n-th write of a point meets the fault.
func TestProxy(t *testing.T) {
	for kind, want := range map[Kind]struct {
		code, carriedOut int
		retryAfter       string
	}{
		Lost: {504, 3, ""}, Conflict: {409, 2, ""}, Expired: {410, 2, ""}, Throttled: {429, 2, "1"}, Failed: {500, 2, ""},
		Cut: {0, 3, ""}, Delayed: {200, 3, ""},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			p, client, carriedOut := served(t)
			id := id(string(kind), 1)
			s := p.follow(id, map[int]Kind{2: kind}, false)
			var codes []int
			var after string
			for range 3 {
				// A body that the client cannot send twice, so the client does not retry.
				body := io.NopCloser(bytes.NewReader([]byte("{}")))
				url := p.address + "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/" + id
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, url, body)
				if err != nil {
					t.Fatal(err)
				}
				code := 0
				if answer, err := client.Do(r); err == nil {
					code = answer.StatusCode
					after += answer.Header.Get("Retry-After")
					answer.Body.Close()
				}
				codes = append(codes, code)
			}
			if !slices.Equal(codes, []int{200, want.code, 200}) || *carriedOut != want.carriedOut || after != want.retryAfter {
				t.Errorf("answers %v, %d carried out, Retry-After %q", codes, *carriedOut, after)
			}
			if s.hits() != 1 || len(s.written()) != 3 {
				t.Errorf("%d faults met in %v", s.hits(), s.written())
			}
		})
	}
}

// statusCode returns the status code of the answer to a request without a body.
func statusCode(t *testing.T, client *http.Client, method, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// TestAgentScript: a script for Towline's agent has faults only for the agent's writes, and counts the controllers'
// writes.
func TestAgentScript(t *testing.T) {
	p, client, carriedOut := served(t)
	s := p.follow("pt0123abcd", map[int]Kind{1: Failed}, true)
	for _, tc := range []struct {
		agent bool
		code  int
	}{{false, http.StatusOK}, {true, http.StatusInternalServerError}, {true, http.StatusOK}} {
		p.agent = tc.agent
		code := statusCode(t, client, http.MethodPatch, p.address+"/apis/a/v1/namespaces/cluster1/things/pt0123abcd")
		if code != tc.code {
			t.Errorf("a write of the agent's, %t: %d, want %d", tc.agent, code, tc.code)
		}
	}
	if len(s.written()) != 2 || len(s.all()) != 3 || s.hits() != 1 || *carriedOut != 2 {
		t.Errorf("%d writes of the agent in %d, %d faults met, %d carried out", len(s.written()), len(s.all()), s.hits(), *carriedOut)
	}
}

// TestServeOld: only reads that may be outdated come from the delayed API server.
func TestServeOld(t *testing.T) {
	const applications = "/apis/argoproj.io/v1alpha1/applications"
	p, client, current := served(t)
	old := 0
	behind := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { old++ }))
	t.Cleanup(behind.Close)
	var err error
	if p.behind, err = url.Parse(behind.URL); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		method, path string
		old, code    int
	}{
		{http.MethodGet, applications + "?resourceVersion=0&limit=500", 1, 200},
		{http.MethodGet, applications + "?watch=true&resourceVersion=7", 1, 200},
		{http.MethodGet, applications + "?watch=true&sendInitialEvents=true", 0, 422},
		{http.MethodGet, applications, 0, 200},
		{http.MethodGet, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/a", 0, 200},
		{http.MethodPatch, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/a", 0, 200},
	} {
		*current, old = 0, 0
		code := statusCode(t, client, tc.method, p.address+tc.path)
		now := 1 - tc.old
		if tc.code != http.StatusOK {
			now = 0
		}
		if code != tc.code || old != tc.old || *current != now {
			t.Errorf("%s %s: %d, %d times old, %d times current", tc.method, tc.path, code, old, *current)
		}
	}
}

// TestInLines: no watch uses protobuf, and the other accepted types stay unchanged.
func TestInLines(t *testing.T) {
	const proto = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	const json = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	for target, want := range map[string]string{
		"/apis/argoproj.io/v1alpha1/applications?watch=true":     json,
		"/apis/argoproj.io/v1alpha1/applications?limit=500":      proto + "," + json,
		"/apis/argoproj.io/v1alpha1/namespaces/n/applications/a": proto + "," + json,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		r.Header.Set("Accept", proto+","+json)
		inLines(r)
		if got := r.Header.Get("Accept"); got != want {
			t.Errorf("%s: %s", target, got)
		}
	}
}

// TestGathering: a kill happens when all points hold, when no more points arrive, or after the longest wait.
func TestGathering(t *testing.T) {
	const underWay = 3
	for name, tc := range map[string]struct {
		held []int // the number of holding points, at intervals of half a lull
		want []bool
	}{
		"all hold":            {[]int{1, underWay}, []bool{false, true}},
		"no more come":        {[]int{1, 2, 2, 2}, []bool{false, false, false, true}},
		"more come":           {[]int{1, 1, 2, 2}, []bool{false, false, false, false}},
		"one holds from then": {[]int{1, 1, 1}, []bool{false, false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var g gathering
			at := time.Now()
			for i, held := range tc.held {
				if got := g.over(held, underWay, at.Add(time.Duration(i)*lull/2)); got != tc.want[i] {
					t.Errorf("with %d of %d at %d: %t", held, underWay, i, got)
				}
			}
		})
	}
	var g gathering
	at := time.Now()
	for held := 1; ; held++ {
		over := g.over(held, 1000, at)
		if late := at.Sub(g.first) >= longest; over != late {
			t.Fatalf("with one more each second, it is over after %s: %t", at.Sub(g.first), over)
		} else if late {
			return
		}
		at = at.Add(time.Second)
	}
}

// TestAnywhere: two fleets with different addresses have equal final states.
func TestAnywhere(t *testing.T) {
	text := func(url string) string {
		return anywhere(`{"repoURL": "`+url+`", "data": "`+base64.StdEncoding.EncodeToString([]byte(url))+`"}`, url)
	}
	if one, other := text("http://127.0.0.1:13100/apps.git"), text("http://127.0.0.1:7/apps.git"); one != other {
		t.Errorf("%s and %s", one, other)
	}
}

// TestTraffic: watches count while they are open, and all other requests count permanently.
func TestTraffic(t *testing.T) {
	traffic := newTraffic()
	ends := traffic.begins(&request{verb: "GET", resource: "applications", watches: true})
	traffic.begins(&request{verb: "GET", resource: "applications", watches: true})
	traffic.begins(&request{verb: "PATCH", resource: "manifestworks"})()
	ends()
	if made, open := traffic.now(); open["applications"] != 1 || made["PATCH manifestworks"] != 1 || total(made) != 1 {
		t.Errorf("made %v, open %v", made, open)
	}
}

// TestScriptOfAKill: a kill happens once, and neither for a late point nor for an ended point.
func TestScriptOfAKill(t *testing.T) {
	carried := 0
	carry := func() { carried++ }
	scripts := map[string]*script{}
	for _, name := range []string{"comes", "comes too late", "ends before"} {
		scripts[name] = &script{faults: map[int]Kind{1: KillAfter, 2: KillAfter}}
	}
	for _, name := range []string{"comes", "ends before"} {
		if kind := scripts[name].next("PATCH applications"); kind != KillAfter {
			t.Errorf("a point that %s meets %q", name, kind)
		}
		scripts[name].hold(carry)
	}
	scripts["ends before"].end()
	if held, others := standing(slices.Collect(maps.Values(scripts))); held != 1 || others != 1 {
		t.Errorf("%d hold and %d are under way, want one of each", held, others)
	}
	for _, s := range scripts {
		s.kill()
	}
	for name, want := range map[string]struct {
		at   stand
		hits int
	}{"comes": {past, 1}, "comes too late": {past, 0}, "ends before": {closed, 1}} {
		s := scripts[name]
		if kind := s.next("PATCH applications"); kind != "" && name != "ends before" {
			t.Errorf("a point that %s meets %q after the kill", name, kind)
		}
		if s.standing() != want.at || s.hits() != want.hits {
			t.Errorf("a point that %s stands at %d and has met %d", name, s.standing(), s.hits())
		}
	}
	if carried != 1 {
		t.Errorf("%d writes were carried out, want 1", carried)
	}
}

// TestNews: events of a point's objects count by name and namespace, including deletions.
func TestNews(t *testing.T) {
	const point = "pt0123abcd"
	n := &news{count: map[string]int{}}
	n.OnAdd(object(works, "cluster1", point+"-12345"), true)
	n.OnUpdate(nil, object(works, point, "work"))
	n.OnDelete(cache.DeletedFinalStateUnknown{Obj: object(workloads, "default", point)})
	n.OnAdd(object(works, "cluster1", "another"), false)
	if got := n.of(point); got != 3 {
		t.Errorf("heard %d times of it, want 3", got)
	}
	if n.forget(point); n.of(point) != 0 {
		t.Error("it is not forgotten")
	}
}

// TestLine: answers come with the delay and in order, and requests come at once.
func TestLine(t *testing.T) {
	const late = 300 * time.Millisecond
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	go func() {
		c, err := target.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, c)
	}()
	l, err := newLine(target.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	c, err := net.Dial("tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for _, by := range []time.Duration{0, late} {
		l.delay(by)
		began := time.Now()
		for _, word := range []string{"one", "two"} {
			if _, err := c.Write([]byte(word)); err != nil {
				t.Fatal(err)
			}
		}
		got := make([]byte, len("onetwo"))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "onetwo" {
			t.Errorf("%q, %v", got, err)
		}
		if took := time.Since(began); took < by {
			t.Errorf("an answer that is %s late came after %s", by, took)
		}
	}
}

// TestWatches: events keep their order, and a fault lasts until it is removed.
func TestWatches(t *testing.T) {
	for kind, want := range map[WatchKind]string{
		"": "one\ntwo\n", Lags: "one\ntwo\n", Stops: "one\ntwo\n", Ends: "one\n", Expires: "one\n" + expired,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			ws := &watches{}
			ws.set("applications", kind)
			from, events := io.Pipe()
			out, to := io.Pipe()
			go ws.pass(from, to, "applications")
			go func() {
				io.WriteString(events, "one\n")
				select { // the second event comes after the fault
				case <-time.After(pace + pace/2):
				case <-t.Context().Done():
				}
				io.WriteString(events, "two\n")
				events.Close()
			}()
			got, err := io.ReadAll(out)
			if err != nil || string(got) != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}
