package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/view"
)

// clustersPage lists the clusters.
func clustersPage(v *visit, p *painted) error {
	p.Title, p.Page = "Clusters", "clusters"
	f := v.filters()
	clusters, err := each(v, func(name string, c *Content) (*view.Cluster, uint64) { return f.cluster(v.fleet, name, c) })
	if err != nil {
		return err
	}
	if err := p.add("clusters-head.html", "", f); err != nil {
		return err
	}
	for i := range clusters {
		c := clusters[i].made
		if c == nil {
			continue
		}
		id := ident("c", c.Name)
		p.Chunks = append(p.Chunks, later("clusters-row.html", id, clusters[i].sum, func() any {
			return map[string]any{"ID": id, "Cluster": c, "Query": p.Query}
		}))
	}
	p.Chunks = append(p.Chunks, plain("</tbody></table></div></section>"))
	return nil
}

// cluster returns a cluster with a sum of its shown content, or nil if the filters exclude the cluster.
func (f *filters) cluster(fleet *Fleet, name string, c *Content) (*view.Cluster, uint64) {
	if !strings.Contains(name, f.Cluster) {
		return nil, 0
	}
	clusters := view.ClustersOf(f.those(c.Rows), fleet.facts(c))
	if f.Problems {
		clusters = view.ProblemClusters(clusters)
	}
	if len(clusters) == 0 {
		return nil, 0
	}
	s := &clusters[0]
	return s, sumOf(s.Name, s.Counts, s.State, s.Message, stamp(s.Heard), s.Kubernetes)
}

// clusterPage is one cluster with its Applications.
func clusterPage(v *visit, p *painted) error {
	name := v.Request.PathValue("name")
	p.Title, p.Page, p.more = name, "clusters", true
	pieces, err := each(v, func(cluster string, c *Content) (*Content, uint64) {
		if cluster != name {
			return nil, 0
		}
		_, sum := (&filters{}).cluster(v.fleet, name, c)
		return c, sumOf(sum, sumOfRows(c.Rows), fmt.Sprint(labelsOf(c.Managed)))
	})
	if err != nil {
		return err
	}
	content := &Content{}
	for i := range pieces {
		content = cmp.Or(pieces[i].made, content)
	}
	read, err := v.Hub.Cluster(v.Request.Context(), name)
	if err != nil {
		return err
	}
	clusters := view.ClustersOf(content.Rows, v.fleet.facts(content))
	if len(clusters) == 0 {
		return notFound("ManagedCluster %s does not exist, and no Application that you may read names this cluster.", name)
	}
	c := clusters[0]
	c.Agent = read.Agent
	if read.Heard != nil && (c.Heard == nil || read.Heard.After(*c.Heard)) {
		c.Heard = read.Heard
	}
	data := map[string]any{"Cluster": &c, "Labels": labelsOf(content.Managed), "Unread": read.Unread}
	if err := p.add("cluster.html", "cluster", data); err != nil {
		return err
	}
	return p.rows(slices.Clone(content.Rows), v.filters().Problems)
}

func labelsOf(c *clusterv1.ManagedCluster) map[string]string {
	if c == nil {
		return nil
	}
	return c.Labels
}
