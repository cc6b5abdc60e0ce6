package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// grafana replaces Grafana's variables for metrics with a scrape interval of a second. It also removes the fallback to
// 0 for queries without a series.
var grafana = strings.NewReplacer("$__rate_interval", "30s", "$__range", "10m", "$namespace", ".*", " or vector(0)", "")

// grafanaDashboard has the fields of a Grafana dashboard file that the suite reads.
type grafanaDashboard struct {
	Title  string `json:"title"`
	Panels []struct {
		Title string `json:"title"`
		Type  string `json:"type"`
		Grid  struct {
			X int `json:"x"`
			Y int `json:"y"`
			W int `json:"w"`
			H int `json:"h"`
		} `json:"gridPos"`
		Targets []struct {
			Expr   string `json:"expr"`
			Legend string `json:"legendFormat"`
		} `json:"targets"`
	} `json:"panels"`
}

// dashboards returns all dashboards by the names of their files.
func dashboards() map[string]grafanaDashboard {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(towline.Root(), "deploy/components/dashboards/*.json"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).To(HaveLen(4))
	found := map[string]grafanaDashboard{}
	for _, file := range files {
		var d grafanaDashboard
		data, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Unmarshal(data, &d)).To(Succeed())
		found[strings.TrimSuffix(filepath.Base(file), ".json")] = d
	}
	return found
}

// dashboardQueries returns the queries of all panels.
func dashboardQueries() (queries []string) {
	GinkgoHelper()
	for _, d := range dashboards() {
		for _, panel := range d.Panels {
			Expect(panel.Targets).NotTo(BeEmpty())
			for _, target := range panel.Targets {
				queries = append(queries, grafana.Replace(target.Expr))
			}
		}
	}
	return queries
}

// unanswered returns the queries without a series.
func (p prometheus) unanswered(ctx context.Context, queries []string) (lacking []string) {
	GinkgoHelper()
	for _, query := range queries {
		var answer struct {
			Data struct {
				Result []any `json:"result"`
			} `json:"data"`
		}
		p.ask(ctx, "/api/v1/query?query="+url.QueryEscape(query), &answer)
		if len(answer.Data.Result) == 0 {
			lacking = append(lacking, query)
		}
	}
	return lacking
}

var _ = Describe("The dashboards, in a real Prometheus", Serial, func() {
	It("have data in every query, for the hub and for an agent", func(ctx SpecContext) {
		By("running an agent, and having something to show")
		installAddOn(ctx)
		agent, err := towline.RunAgent(ctx, f, binary, "cluster1", "agent-dashboards")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(agent.Stop)
		p, _ := startPrometheus(ctx, scraped{Agents: []string{agent.Metrics}})
		goAstray(ctx)
		standalone(ctx, "dashboards-needy", "cluster1", func(b *fixture.ApplicationBuilder) {
			b.Annotation(apis.AnnotationWith, "secret/dashboards-missing")
		})
		standalone(ctx, "dashboards", "cluster1")
		expectHealthy(ctx, "dashboards")

		By("asking Prometheus what Grafana would")
		queries := dashboardQueries()
		Eventually(ctx, func(ctx context.Context) []string { return p.unanswered(ctx, queries) }).
			WithPolling(time.Second).Should(BeEmpty())

		if *pictures != "" {
			p.drawAt(ctx, *pictures, "dashboards")
		}

		By("finding each metric in what was scraped")
		var wanted []string
		for _, query := range queries {
			names := metricNames.FindAllString(query, -1)
			Expect(names).NotTo(BeEmpty(), query)
			wanted = append(wanted, names...)
		}
		slices.Sort(wanted)
		wanted = slices.Compact(wanted)
		Eventually(ctx, p.metrics).Should(ContainElements(wanted))
		AddReportEntry(fmt.Sprintf("%d queries are about %d metrics: %v", len(queries), len(wanted), wanted))
	})
})
