package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// metric is a metric served by Towline.
type metric struct {
	name, kind, help, from string
	labels                 []string
}

// kinds are the types of metrics, by the names of the constructors in the Prometheus client library.
var kinds = map[string]string{
	"NewCounter": "counter", "NewCounterVec": "counter", "NewCounterFunc": "counter",
	"NewGauge": "gauge", "NewGaugeVec": "gauge", "NewGaugeFunc": "gauge",
	"NewHistogram": "histogram", "NewHistogramVec": "histogram",
	"NewSummary": "summary", "NewSummaryVec": "summary",
}

// metrics returns the page of the metrics. Fewer than 30 metrics are an error.
func (s *source) metrics() (string, error) {
	var found []metric
	for _, p := range s.packages {
		of, err := s.metricsOf(p)
		if err != nil {
			return "", err
		}
		found = append(found, of...)
	}
	if len(found) < 30 {
		return "", fmt.Errorf("%d metrics were found: Towline has more", len(found))
	}
	slices.SortFunc(found, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	var rows [][]string
	for _, m := range found {
		labels := make([]string, 0, len(m.labels))
		for _, l := range m.labels {
			labels = append(labels, code(l))
		}
		rows = append(rows, []string{code(m.name), m.kind, strings.Join(labels, ", "), m.from, cell(m.help)})
	}
	return "# Metrics\n\n" +
		"Towline serves these metrics over HTTPS on port 8443. [Monitoring](../monitoring.md) describes the scraping, and\n" +
		"[the reference](../reference.md#metrics) the number of series.\n\n" +
		table([]string{"metric", "type", "labels", "served by", "meaning"}, rows), nil
}

// metricsOf returns the metrics declared by a package. The name, the help text and the labels must be constants.
func (s *source) metricsOf(p *packages.Package) (found []metric, err error) {
	inspect(p, func(call *ast.CallExpr) {
		fun, is := call.Fun.(*ast.SelectorExpr)
		if !is || err != nil || len(call.Args) == 0 {
			return
		}
		if of, is := fun.X.(*ast.Ident); !is || of.Name != "prometheus" {
			return
		}
		m := metric{kind: kinds[fun.Sel.Name], from: servedBy(p)}
		switch opts, is := call.Args[0].(*ast.CompositeLit); {
		case fun.Sel.Name == "NewDesc":
			m.kind, m.name, m.help = "gauge", text(p, call.Args[0]), text(p, call.Args[1])
			m.labels, err = s.texts(p, call.Args[2])
		case m.kind == "":
			return
		case !is:
			err = fmt.Errorf("%s: options that are not written out", p.Fset.Position(call.Pos()))
		default:
			f := fields(opts)
			m.name, m.help = text(p, f["Name"]), text(p, f["Help"])
			if strings.HasSuffix(fun.Sel.Name, "Vec") {
				m.labels, err = s.texts(p, call.Args[1])
			}
		}
		if err == nil && (m.name == "" || m.help == "" || slices.Contains(m.labels, "")) {
			err = fmt.Errorf("%s: a metric whose name, help or labels are no constants", p.Fset.Position(call.Pos()))
		}
		found = append(found, m)
	})
	return found, err
}

// servedBy returns the parts of Towline (controller, agent) with the metrics of a package.
func servedBy(p *packages.Package) string {
	switch _, path, _ := strings.Cut(p.PkgPath, "/towline/"); {
	case path == "cmd/towline":
		return "controller, agent"
	case path == "pkg/agent", strings.HasPrefix(path, "pkg/agent/"):
		return "agent"
	default:
		return "controller"
	}
}
