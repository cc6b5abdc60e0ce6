package resourcesync

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/search"
	"github.com/towline-io/towline/pkg/search/searchtest"
)

// hub is a cache of Applications.
type hub struct {
	client.Reader
	apps []*argocd.Application
}

func (h *hub) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, a := range h.apps {
		list.(*argocd.ApplicationList).Items = append(list.(*argocd.ApplicationList).Items, *a)
	}
	return nil
}

// service is a Querier that answers with a resource for each Application, unless a test breaks a cluster.
type service struct {
	mu     sync.Mutex
	asked  []string
	broken map[string]error
	names  map[string]string
	absent map[string]bool
	before func(clusters string)
}

func (s *service) Query(_ context.Context, wanted []search.Key) (*search.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var clusters []string
	answer := &search.Answer{Applications: map[search.Key]*search.Application{}}
	var failure error
	for _, k := range wanted {
		if !slices.Contains(clusters, k.Cluster) {
			clusters = append(clusters, k.Cluster)
		}
		if err := s.broken[k.Cluster]; err != nil {
			failure = err
		}
		if !s.absent[k.Name] {
			answer.Applications[k] = &search.Application{Resources: []argocd.ResourceStatus{{Kind: "Service", Name: "of-" + k.Name + s.names[k.Name]}}}
		}
	}
	s.asked = append(s.asked, strings.Join(clusters, " "))
	if s.before != nil {
		s.before(strings.Join(clusters, " "))
	}
	if failure != nil {
		return nil, failure
	}
	return answer, nil
}

// take returns the requested pages since the last take, sorted.
func (s *service) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	slices.Sort(asked)
	return asked
}

// searching is a running Search on the test's own hub.
type searching struct {
	*Search
	t       *testing.T
	ctx     func() context.Context
	hub     *hub
	service *service
	time    *clocktesting.FakeClock
	logged  lines
}

// lines keeps the log lines.
type lines []string

func (l *lines) Write(p []byte) (int, error) {
	*l = append(*l, string(p))
	return len(p), nil
}

func newSearching(t *testing.T, apps ...*argocd.Application) *searching {
	s := &searching{
		t: t, hub: &hub{apps: apps}, time: clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0)),
		service: &service{broken: map[string]error{}, names: map[string]string{}, absent: map[string]bool{}},
	}
	s.Search = NewSearch(s.hub, s.service, 10*time.Second)
	s.clock, s.jitter = s.time, func() float64 { return 1 }
	s.ctx = func() context.Context { return ctrl.LoggerInto(t.Context(), zap.New(zap.WriteTo(&s.logged))) }
	return s
}

// news runs a round and returns the Applications reported to the controllers.
func (s *searching) news() []string {
	s.t.Helper()
	listener := make(chan newsOf, 1000)
	s.listeners = []chan newsOf{listener}
	s.round(s.ctx())
	close(listener)
	var told []string
	for e := range listener {
		told = append(told, e.Object.Name)
	}
	slices.Sort(told)
	return slices.Compact(told)
}

// resource returns the name of the Application's resource, or an empty string without facts.
func (s *searching) resource(app *argocd.Application) string {
	s.t.Helper()
	f, err := s.Facts(s.t.Context(), app)
	if err != nil {
		s.t.Fatal(err)
	}
	if f == nil {
		return ""
	}
	return f.Status.Resources[0].Name
}

func (s *searching) expect(what string, want, got any) {
	s.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// value returns the value of a counter or gauge.
func value(t *testing.T, metric prometheus.Metric) float64 {
	t.Helper()
	var d dto.Metric
	if err := metric.Write(&d); err != nil {
		t.Fatal(err)
	}
	return d.GetCounter().GetValue() + d.GetGauge().GetValue()
}

func on(cluster, name string) *argocd.Application {
	return fixture.Application(name).Cluster(cluster).Obj()
}

func failure(r search.Reason) error { return &search.Error{Reason: r} }

func TestSearchAsksForClustersWithPullApplications(t *testing.T) {
	var apps []*argocd.Application
	var names []string
	for i := range pageSize + 1 {
		name := fmt.Sprintf("c%02d", i)
		apps, names = append(apps, on(name, "app-"+name), on(name, "more-"+name)), append(names, name)
	}
	slices.Reverse(apps)
	push := on("push", "push")
	delete(push.Labels, "apps.open-cluster-management.io/pull-to-ocm-managed-cluster")
	s := newSearching(t, append(apps, push, on("*", "star"), on("", "nowhere"))...)
	s.expect("told", 2*(pageSize+1), len(s.news()))
	s.expect("pages", []string{strings.Join(names[:pageSize], " "), names[pageSize]}, s.service.take())
}

func TestSearchAsksNobodyWithoutApplications(t *testing.T) {
	s := newSearching(t)
	s.news()
	s.expect("pages", []string(nil), s.service.take())
}

func TestSearchReportsNews(t *testing.T) {
	a, b := on("c1", "a"), on("c2", "b")
	s := newSearching(t, a, b)
	s.expect("the first round", []string{"a", "b"}, s.news())
	f, _ := s.Facts(t.Context(), a)
	if !f.Detailed || !f.ConditionsComplete || f.Complete || f.Version != "" || f.Source != "search" || f.ObservedAt.Unix() != 1_700_000_000 {
		t.Errorf("got %+v", f)
	}
	s.time.Step(10 * time.Second)
	s.expect("nothing new", []string(nil), s.news())
	if again, _ := s.Facts(t.Context(), a); again != f {
		t.Error("facts that did not change are others")
	}
	s.service.names["b"] = "-2"
	s.expect("b is new", []string{"b"}, s.news())
	s.expect("b", "of-b-2", s.resource(b))
}

func TestSearchKeepsFactsWithoutAnAnswer(t *testing.T) {
	a := on("c1", "a")
	s := newSearching(t, a)
	s.news()
	s.service.absent["a"] = true
	s.expect("told", []string(nil), s.news())
	s.expect("a", "of-a", s.resource(a))
}

func TestSearchForgetsApplicationsOutsideTheHub(t *testing.T) {
	a := on("c1", "a")
	s := newSearching(t, a)
	s.news()
	moved := on("c2", "a")
	s.expect("of another cluster", "", s.resource(moved))
	s.expect("of another namespace", "", s.resource(fixture.Application("a").Cluster("c1").
		Annotation("apps.open-cluster-management.io/ocm-managed-cluster-app-namespace", "x").Obj()))
	s.hub.apps = nil
	s.news()
	s.expect("gone", "", s.resource(a))
	s.expect("pages", 0, len(s.pages))
}

// TestSearchPageFails: when a page fails, the other pages continue. The failed page keeps its facts, is marked stale
// after a while, and is requested less and less often. The log has a line for the failure and a line for its end.
func TestSearchPageFails(t *testing.T) {
	var apps []*argocd.Application
	for i := range 2 * pageSize {
		apps = append(apps, on(fmt.Sprintf("c%02d", i), fmt.Sprintf("a%02d", i)))
	}
	s := newSearching(t, apps...)
	s.news()
	s.service.take()
	before := value(t, searchFailures.WithLabelValues(string(search.Timeout)))

	s.service.broken["c00"] = failure(search.Timeout)
	s.service.names["a00"], s.service.names["a39"] = "-2", "-2"
	if told := s.news(); len(told) != pageSize+1 || !slices.Contains(told, "a39") {
		t.Errorf("told %v: want the Applications whose facts are stale now, and the changed one of the other page", told)
	}
	s.expect("the failed page's", "of-a00", s.resource(apps[0]))
	s.expect("the good page's", "of-a39-2", s.resource(apps[39]))
	stale, _ := s.Facts(t.Context(), apps[0])
	fresh, _ := s.Facts(t.Context(), apps[39])
	if !stale.StaleSince.IsZero() || !fresh.StaleSince.IsZero() {
		t.Errorf("stale since %v and %v, at the first failure", stale.StaleSince, fresh.StaleSince)
	}
	if stale.ConditionsComplete || !fresh.ConditionsComplete {
		t.Error("what stale facts lack of conditions counts as gone")
	}
	s.expect("clusters that are stale", float64(pageSize), value(t, searchStale))
	s.service.take()

	var asked, told []int
	for range 40 {
		s.time.Step(10 * time.Second)
		if n := len(s.news()); n > 0 {
			told = append(told, len(asked), n)
		}
		asked = append(asked, len(s.service.take())-1)
	}
	s.expect("told in round, of", fmt.Sprint([]int{14, pageSize}), fmt.Sprint(told)) // the stale mark, at the first failure after two minutes
	if f, _ := s.Facts(t.Context(), apps[0]); f.StaleSince.Unix() != 1_700_000_000 {
		t.Errorf("stale since %v", f.StaleSince)
	}
	s.expect("asked", "1010001000000010000000000010000000000010", strings.Trim(strings.ReplaceAll(fmt.Sprint(asked), " ", ""), "[]"))
	s.expect("failures", before+7, value(t, searchFailures.WithLabelValues(string(search.Timeout))))
	s.expect("log lines", 1, len(s.logged))

	delete(s.service.broken, "c00")
	for range 12 {
		s.time.Step(10 * time.Second)
		s.news()
	}
	s.expect("the page's, again", "of-a00-2", s.resource(apps[0]))
	if f, _ := s.Facts(t.Context(), apps[1]); !f.StaleSince.IsZero() || !f.ConditionsComplete {
		t.Error("facts are stale for ever")
	}
	s.expect("log lines", 2, len(s.logged))
	s.expect("success", float64(s.time.Now().Unix()), value(t, searchSuccess))
	s.service.take()
	s.time.Step(10 * time.Second)
	s.news()
	s.expect("pages", 2, len(s.service.take()))
}

// TestSearchTellsOfAnOutageAtOnce: an outage is logged at the first failure, and not only after the last page has
// failed.
func TestSearchTellsOfAnOutageAtOnce(t *testing.T) {
	s := newSearching(t, on("c1", "a"), on("c2", "b"))
	s.service.broken["c1"], s.service.broken["c2"] = failure(search.TooLarge), failure(search.TooLarge)
	second := false
	s.service.before = func(clusters string) {
		if second = second || clusters == "c2"; clusters == "c2" { // the half with c1 has failed by now
			s.expect("clusters that are stale", 1.0, value(t, searchStale))
			s.expect("log lines", 1, len(s.logged))
		}
	}
	s.news()
	s.expect("asked for c2", true, second)
	s.expect("clusters that are stale", 2.0, value(t, searchStale))
	s.expect("log lines", 1, len(s.logged))
}

// TestSearchLogsNoToken: the log never has the token, also if the service sends the token back in any form.
func TestSearchLogsNoToken(t *testing.T) {
	server := searchtest.New(t)
	s := newSearching(t, on("c1", "a"))
	s.querier = search.New(server.Config())
	for _, code := range []int{http.StatusOK, http.StatusForbidden, http.StatusBadGateway, http.StatusFound} {
		for _, body := range []string{"%s", `{"errors":[{"message":"%s"}]}`, `{"data":"%s"}`} {
			server.Interfere(func(w http.ResponseWriter, r *http.Request, _ []string) bool {
				w.Header().Set("Location", "https://elsewhere/"+searchtest.Token)
				w.WriteHeader(code)
				fmt.Fprintf(w, body, r.Header.Get("Authorization"))
				return true
			})
			s.time.Step(time.Hour)
			s.reported = ""
			s.news()
		}
	}
	s.expect("log lines", 12, len(s.logged))
	for _, line := range s.logged {
		if strings.Contains(line, searchtest.Token) {
			t.Errorf("the token is in the log: %s", line)
		}
	}
}

func TestSearchLogsEachNewReason(t *testing.T) {
	s := newSearching(t, on("c1", "a"))
	for _, err := range []error{failure(search.Timeout), failure(search.Timeout), failure(search.Unauthorized), errors.New("odd")} {
		s.service.broken["c1"] = err
		s.time.Step(time.Hour)
		s.news()
	}
	s.expect("log lines", 3, len(s.logged))
}

// TestSearchDivides: only the cluster with a too long or invalid part of an answer suffers. The other clusters of its
// page are not requested together with the cluster again.
func TestSearchDivides(t *testing.T) {
	for _, reason := range []search.Reason{search.TooLarge, search.Invalid} {
		s := newSearching(t, on("c1", "a"), on("c2", "b"), on("c3", "c"), on("c4", "d"))
		s.service.broken["c2"] = failure(reason)
		s.expect("told", []string{"a", "c", "d"}, s.news())
		s.expect("pages", []string{"c1", "c1 c2", "c1 c2 c3 c4", "c2", "c3 c4"}, s.service.take())
		s.time.Step(time.Second)
		s.news()
		s.expect("pages", []string{"c1", "c3 c4"}, s.service.take())
		s.time.Step(9 * time.Second)
		s.news()
		s.expect("pages", []string{"c1", "c2", "c3 c4"}, s.service.take())
		s.expect("clusters that are stale", 1.0, value(t, searchStale))
	}
}

// TestSearchRuns: Start runs a round at once and a round for each tick, until the end. Without listeners, Start runs no
// round.
func TestSearchRuns(t *testing.T) {
	s := newSearching(t, on("c1", "a"))
	if err := s.Start(s.ctx()); err != nil || len(s.service.take()) > 0 {
		t.Errorf("asked for nobody: %v", err)
	}
	listener := make(chan newsOf)
	s.listeners = []chan newsOf{listener}
	ctx, cancel := context.WithCancel(s.ctx())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	for i := range 3 {
		if got := (<-listener).Object.Name; got != "a" {
			t.Errorf("told of %q", got)
		}
		s.service.mu.Lock()
		s.service.names["a"] = fmt.Sprint(i)
		s.service.mu.Unlock()
		s.time.Step(10 * time.Second) // the ticker's channel keeps a tick
	}
	cancel()
	for {
		select {
		case <-listener:
			continue
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		}
		break
	}
}

func TestSearchWakesControllers(t *testing.T) {
	s := newSearching(t)
	s.Changes(func(app types.NamespacedName) []reconcile.Request { return []reconcile.Request{{NamespacedName: app}} })
	s.Changes(func(types.NamespacedName) []reconcile.Request { return nil })
	s.expect("listeners", 2, len(s.listeners))
	if !s.NeedLeaderElection() {
		t.Error("every replica asks")
	}
}
