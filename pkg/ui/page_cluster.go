package ui

import (
	"slices"

	"github.com/towline-io/towline/pkg/view"
)

// clustersPage lists the clusters.
func clustersPage(v *visit, p *painted) error {
	p.Title, p.Page = "Clusters", "clusters"
	f := v.filters()
	clusters := view.ClustersOf(v.rows(f.fits), &v.fleet.Clusters)
	if f.Problems {
		clusters = view.ProblemClusters(clusters)
	}
	if err := p.add("clusters-head.html", "", f); err != nil {
		return err
	}
	for i := range clusters {
		id := ident("c", clusters[i].Name)
		if err := p.add("clusters-row.html", id, map[string]any{"ID": id, "Cluster": &clusters[i], "Query": p.Query}); err != nil {
			return err
		}
	}
	p.Chunks = append(p.Chunks, plain("</tbody></table></div></section>"))
	return nil
}

// clusterPage is one cluster with its Applications.
func clusterPage(v *visit, p *painted) error {
	name := v.Request.PathValue("name")
	p.Title, p.Page = name, "clusters"
	p.concerns = func(r *view.Row) bool { return r.Cluster == name }
	rows := v.rows(p.concerns)
	read, err := v.Hub.Cluster(v.Request.Context(), name)
	if err != nil {
		return err
	}
	facts := view.ClusterFacts{ManagedUnread: v.fleet.Clusters.ManagedUnread}
	for i := range v.fleet.Clusters.Managed {
		if v.fleet.Clusters.Managed[i].Name == name {
			facts.Managed = v.fleet.Clusters.Managed[i : i+1]
		}
	}
	clusters := view.ClustersOf(rows, &facts)
	if len(clusters) == 0 {
		return notFound("There is no ManagedCluster %s, and no Application that you may read names it.", name)
	}
	c := clusters[0]
	c.Agent = read.Agent
	if read.Heard != nil && (c.Heard == nil || read.Heard.After(*c.Heard)) {
		c.Heard = read.Heard
	}
	data := map[string]any{"Cluster": &c, "Labels": labelsOf(&facts), "Unread": read.Unread}
	if err := p.add("cluster.html", "cluster", data); err != nil {
		return err
	}
	return p.rows(slices.Clone(rows), v.filters().Problems)
}

func labelsOf(f *view.ClusterFacts) map[string]string {
	if len(f.Managed) == 0 {
		return nil
	}
	return f.Managed[0].Labels
}
