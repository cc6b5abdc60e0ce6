package suite

import (
	"context"
	"flag"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var pictures = flag.String("towline.pictures", "", "folder for a page with the data of each dashboard, since there is no Grafana here")

// The size of a panel's unit in pixels, and the drawn time span.
const (
	unitWidth, unitHeight = 50, 36
	drawnSeconds          = 60
)

// colours are used for the series of a panel in turn.
var colours = []string{"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"}

// series is a series in an answer of Prometheus.
type series struct {
	Metric map[string]string `json:"metric"`
	Values [][2]any          `json:"values"`

	name string
}

// drawn is a series in a picture.
type drawn struct {
	Name, Last, Line, Colour string
}

var pictureTemplate = template.Must(template.New("dashboard").Parse(`<!doctype html><meta charset="utf-8"><title>{{.Title}}</title>
<style>body{font:13px sans-serif;width:1200px;position:relative;margin:8px}div{position:absolute;box-sizing:border-box;border:1px solid #ccc;
overflow:hidden;padding:4px;background:#fff}b{display:block}ul{list-style:none;margin:2px 0;padding:0;font-size:11px}svg{display:block}</style>
<h1 style="height:34px;margin:0">{{.Title}}</h1>
{{range .Panels}}<div style="left:{{.X}}px;top:{{.Y}}px;width:{{.W}}px;height:{{.H}}px"><b>{{.Title}}</b>
{{if .Lines}}<svg width="{{.W}}" height="{{.Plot}}">
{{range .Series}}<polyline fill="none" stroke="{{.Colour}}" stroke-width="1.5" points="{{.Line}}"/>{{end}}</svg>{{end}}
<ul>{{range .Series}}<li><span style="color:{{.Colour}}">■</span> {{.Name}} <strong>{{.Last}}</strong></li>{{end}}</ul></div>
{{end}}`))

// picture is a panel with its data.
type picture struct {
	Title            string
	X, Y, W, H, Plot int
	Lines            bool
	Series           []drawn
}

// drawAt changes an Application until Prometheus has scraped for drawnSeconds, and then calls draw.
func (p prometheus) drawAt(ctx context.Context, folder, app string) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) (scrapes int) {
		for _, change := range [][]string{
			{"label", fmt.Sprintf("drawn=t%d", time.Now().Unix())}, {"annotate", "argocd.argoproj.io/refresh=normal"},
		} {
			_, err := f.Hub.Kubectl(ctx, change[0], "applications.argoproj.io", app, "--namespace", argocdNamespace, "--overwrite", change[1])
			Expect(err).NotTo(HaveOccurred())
		}
		var answer struct {
			Data struct {
				Result []struct {
					Value [2]any `json:"value"`
				} `json:"result"`
			} `json:"data"`
		}
		p.ask(ctx, "/api/v1/query?query="+url.QueryEscape("min(count_over_time(up[5m]))"), &answer)
		Expect(answer.Data.Result).To(HaveLen(1))
		return int(number(answer.Data.Result[0].Value[1]))
	}).WithPolling(3 * time.Second).WithTimeout(3 * time.Minute).Should(BeNumerically(">=", drawnSeconds))
	p.draw(ctx, folder)
}

// draw writes a page for each dashboard, with the data of the last drawnSeconds.
func (p prometheus) draw(ctx context.Context, folder string) {
	GinkgoHelper()
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	for name, d := range dashboards() {
		page := struct {
			Title  string
			Panels []picture
		}{Title: d.Title}
		for _, panel := range d.Panels {
			pic := picture{
				Title: panel.Title, X: panel.Grid.X * unitWidth, Y: 40 + panel.Grid.Y*unitHeight, W: panel.Grid.W * unitWidth, H: panel.Grid.H * unitHeight,
				Plot: panel.Grid.H * unitHeight / 2, Lines: panel.Type == "timeseries",
			}
			var all []series
			now := time.Now().Unix()
			for _, target := range panel.Targets {
				all = append(all, p.series(ctx, grafana.Replace(target.Expr), target.Legend, now)...)
			}
			pic.Series = lines(all, now, pic.W, pic.Plot)
			page.Panels = append(page.Panels, pic)
		}
		file, err := os.Create(filepath.Join(folder, name+".html"))
		Expect(err).NotTo(HaveOccurred())
		Expect(pictureTemplate.Execute(file, page)).To(Succeed())
		Expect(file.Close()).To(Succeed())
	}
}

// series returns the series of a query, with names from the legend.
func (p prometheus) series(ctx context.Context, query, legend string, now int64) []series {
	GinkgoHelper()
	var answer struct {
		Data struct {
			Result []series `json:"result"`
		} `json:"data"`
	}
	p.ask(ctx, fmt.Sprintf("/api/v1/query_range?query=%s&start=%d&end=%d&step=2", url.QueryEscape(query), now-drawnSeconds, now), &answer)
	for i := range answer.Data.Result {
		answer.Data.Result[i].name = legendOf(legend, answer.Data.Result[i].Metric)
	}
	return answer.Data.Result
}

// lines draws all series of a panel on a common scale.
func lines(all []series, now int64, width, height int) (found []drawn) {
	highest := 1e-9
	for _, s := range all {
		for _, v := range s.Values {
			if y := number(v[1]); drawable(y) {
				highest = max(highest, y)
			}
		}
	}
	for i, s := range all {
		var points []string
		for _, v := range s.Values {
			x, y := v[0].(float64)-float64(now-drawnSeconds), number(v[1])
			if drawable(y) {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x/drawnSeconds*float64(width-12), float64(height-2)-y/highest*float64(height-6)))
			}
		}
		found = append(found, drawn{
			Name: s.name, Last: strconv.FormatFloat(number(s.Values[len(s.Values)-1][1]), 'g', 4, 64),
			Line: strings.Join(points, " "), Colour: colours[i%len(colours)],
		})
	}
	return found
}

func drawable(y float64) bool { return !math.IsNaN(y) && !math.IsInf(y, 0) }

func number(v any) float64 {
	y, err := strconv.ParseFloat(v.(string), 64)
	Expect(err).NotTo(HaveOccurred())
	return y
}

// legendOf fills a legend with labels, as Grafana does.
func legendOf(legend string, labels map[string]string) string {
	var pairs []string
	for key, value := range labels {
		pairs = append(pairs, "{{"+key+"}}", value)
	}
	if legend == "" {
		values := make([]string, 0, len(labels))
		for key, value := range labels {
			if key != "__name__" {
				values = append(values, key+"="+value)
			}
		}
		slices.Sort(values)
		return strings.Join(values, " ")
	}
	return strings.NewReplacer(pairs...).Replace(legend)
}
