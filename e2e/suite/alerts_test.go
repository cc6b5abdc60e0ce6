package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// scraping is the configuration of Prometheus. Prometheus scrapes the agents, and scrapes Towline every second with the
// settings of the chart's ServiceMonitor.
const scraping = `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: towline
  scheme: https
  honor_labels: true
  authorization: {credentials_file: token}
  tls_config: {insecure_skip_verify: true}
  static_configs: [{targets: [%s]}]
- job_name: agents
  honor_labels: true
  static_configs: [{targets: [%s]}]
`

// astray is an ApplicationSet with a single Application, whose cluster does not exist on the hub.
const astray = `
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: alerts, namespace: argocd}
spec:
  generators: [{list: {elements: [{cluster: nowhere}]}}]
  template:
    metadata:
      name: 'alerts-{{cluster}}'
      labels: {%s: "true"}
      annotations: {%s: '{{cluster}}', %s: "true"}
    spec:
      project: default
      source: {repoURL: "https://git.example.com/x.git", path: x, targetRevision: main}
      destination: {server: https://kubernetes.default.svc, namespace: alerts}
`

// goAstray applies astray until the spec ends.
func goAstray(ctx context.Context) {
	GinkgoHelper()
	apply(ctx, fmt.Sprintf(astray, apis.LabelPull, apis.AnnotationCluster, apis.AnnotationSkipReconcile))
	DeferCleanup(func(ctx SpecContext) {
		_, err := f.Hub.Kubectl(ctx, "delete", "applicationset", "--namespace", argocdNamespace, "alerts", "--ignore-not-found")
		Expect(err).NotTo(HaveOccurred())
	})
}

// prometheus is a real Prometheus with Towline's alerts.
type prometheus struct{ url string }

// scraped says from where a Prometheus of the suite reads metrics, and how it evaluates the alerts.
type scraped struct {
	// Towlines and Agents are the addresses of the scraped metrics. An empty Towlines means the suite's own Towline.
	Towlines, Agents []string

	// Hurried makes a minute of the alerts' expressions a second.
	Hurried bool
}

// startPrometheus runs a Prometheus with the alerts of the chart. Towline's ClusterRole for metrics readers permits the
// reads. The alerts fire without a waiting time.
func startPrometheus(ctx context.Context, of scraped) (p prometheus, expressions []string) {
	GinkgoHelper()
	program, err := exec.LookPath("prometheus")
	Expect(err).NotTo(HaveOccurred(), "it is in Debian's package prometheus")
	var rule struct {
		Spec struct {
			Groups []struct {
				Name  string           `json:"name"`
				Rules []map[string]any `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	data, err := os.ReadFile(filepath.Join(towline.Root(), "deploy/components/prometheus-rule/prometheus_rule.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.Unmarshal(data, &rule)).To(Succeed())
	for _, r := range rule.Spec.Groups[0].Rules {
		r["for"] = "0s"
		if of.Hurried {
			r["expr"] = hurried(r["expr"].(string))
		}
		expressions = append(expressions, r["expr"].(string))
	}
	// The windows of the other groups are hours and days: deploy/testdata/alerts.yaml has their tests.
	for _, g := range rule.Spec.Groups[1:] {
		for _, r := range g.Rules {
			if expression := r["expr"].(string); metricNames.MatchString(expression) {
				expressions = append(expressions, expression)
			}
		}
	}
	rule.Spec.Groups = rule.Spec.Groups[:1]
	rules, err := yaml.Marshal(rule.Spec)
	Expect(err).NotTo(HaveOccurred())

	const reader = "prometheus-alerts"
	token := tokenOf(ctx, reader)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: reader},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "towline-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: argocdNamespace, Name: reader}},
	}
	Expect(client.IgnoreAlreadyExists(hub.Create(ctx, binding))).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		Expect(client.IgnoreNotFound(hub.Delete(ctx, binding))).To(Succeed())
	})

	dir := GinkgoT().TempDir()
	if of.Towlines == nil {
		of.Towlines = []string{tow.Metrics}
	}
	targets := func(addresses []string) string {
		var out []string
		for _, a := range addresses {
			_, host, _ := strings.Cut(a, "://")
			out = append(out, strconv.Quote(host))
		}
		return strings.Join(out, ", ")
	}
	for name, text := range map[string]string{
		"rules.yaml": string(rules), "token": token, "prometheus.yaml": fmt.Sprintf(scraping, targets(of.Towlines), targets(of.Agents)),
	} {
		Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}
	ports, err := f.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	p.url = "http://" + address
	process, err := f.Run(ctx, fleet.Command{
		Name: "prometheus", Path: program, Dir: dir, Ready: fleet.HTTPReady(p.url + "/-/ready"),
		Args: []string{"--config.file=prometheus.yaml", "--storage.tsdb.path=data", "--web.listen-address=" + address},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(process.Stop)
	return p, expressions
}

// ask decodes an answer of Prometheus' API.
func (p prometheus) ask(ctx context.Context, path string, into any) {
	GinkgoHelper()
	status, body := fetch(ctx, p.url+path, "")
	Expect(status).To(Equal(http.StatusOK), body)
	Expect(json.Unmarshal([]byte(body), into)).To(Succeed())
}

// firing returns the names of the firing alerts, with their reasons.
func (p prometheus) firing(ctx context.Context) (names []string) {
	var answer struct {
		Data struct {
			Alerts []struct {
				State  string            `json:"state"`
				Labels map[string]string `json:"labels"`
			} `json:"alerts"`
		} `json:"data"`
	}
	p.ask(ctx, "/api/v1/alerts", &answer)
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			names = append(names, strings.TrimSpace(a.Labels["alertname"]+" "+a.Labels["reason"]))
		}
	}
	return names
}

// metrics returns the names of all scraped metrics.
func (p prometheus) metrics(ctx context.Context) []string {
	var answer struct {
		Data []string `json:"data"`
	}
	p.ask(ctx, "/api/v1/label/__name__/values", &answer)
	return answer.Data
}

// metricNames matches the names of metrics in an expression.
var metricNames = regexp.MustCompile(`\b(towline|leader_election|process|go|workqueue|controller_runtime|rest_client)_[a-z0-9_]+`)

var _ = Describe("The alerts, in a real Prometheus", func() {
	It("fire with their cause, clear after its end, and use metrics that Towline has", func(ctx SpecContext) {
		p, expressions := startPrometheus(ctx, scraped{})
		blocked, lacking := Equal("TowlineApplicationsBlocked "+apis.ReasonClusterNotFound), HavePrefix("TowlineDependenciesFailing")

		By("sending Applications to a cluster that is not there, and without what they need")
		goAstray(ctx)
		needy := standalone(ctx, "alerts-needy", "cluster1", func(b *fixture.ApplicationBuilder) {
			b.Annotation(apis.AnnotationWith, "secret/alerts-missing")
		})
		Eventually(ctx, p.firing).Should(ContainElements(blocked, lacking))

		By("finding the metrics of all alerts in what Towline serves")
		var wanted []string
		for _, e := range expressions {
			wanted = append(wanted, metricNames.FindAllString(e, -1)...)
		}
		slices.Sort(wanted)
		wanted = slices.Compact(wanted)
		Expect(len(wanted)).To(BeNumerically(">=", len(expressions)))
		Eventually(ctx, p.metrics).Should(ContainElements(wanted))
		AddReportEntry(fmt.Sprintf("%d alerts are about %d metrics: %v", len(expressions), len(wanted), wanted))

		By("taking both causes away")
		_, err := f.Hub.Kubectl(ctx, "delete", "applicationset", "--namespace", argocdNamespace, "alerts")
		Expect(err).NotTo(HaveOccurred())
		patchHub(ctx, needy.Name, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, apis.AnnotationWith))
		Eventually(ctx, p.firing).ShouldNot(Or(ContainElement(blocked), ContainElement(lacking)))

		By("killing Towline, and starting it again")
		Expect(tow.Kill()).To(Succeed())
		started := false
		DeferCleanup(func(ctx SpecContext) {
			if !started {
				Expect(tow.Restart(ctx)).To(Succeed())
			}
		})
		Eventually(ctx, p.firing).Should(ContainElement("TowlineDown"))
		started = true
		Expect(tow.Restart(ctx)).To(Succeed())
		Eventually(ctx, p.firing).ShouldNot(Or(ContainElement("TowlineDown"), ContainElement("TowlineNoLeader")))
	})
})
