package clusterimport

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// candidate is a chosen cluster.
type candidate struct {
	name string

	// cluster is the ManagedCluster; nil if the hub has none.
	cluster *clusterv1.ManagedCluster

	// existing is the Secret of the cluster; nil for none.
	existing *corev1.Secret

	// server is the address for the Secret. usable is false for a placeholder.
	server string
	usable bool

	// wish is the wish for the credentials in the Secret. decides is the GitOpsCluster with the wish.
	wish    wish
	decides types.NamespacedName
}

// choose reads the chosen clusters of the Placement.
func (d *decision) choose() {
	if b := d.firstBlock(Choose, subject{}); b != nil {
		d.resolved, d.imported = no(b), unresolved
		return
	}
	d.chosen = d.selection()
	d.resolved = yes(apis.ReasonResolved, "the Placement has chosen "+count(len(d.chosen.clusters)))
	if d.chosen.why != "" {
		d.resolved.message += " (" + d.chosen.why + ")"
	}
}

// imports creates or updates the Secrets of the chosen clusters. A problem with a cluster does not stop the others.
func (d *decision) imports() (steps []Step) {
	var n int32
	troubles := map[string]*block{}
	var others, untrusted []string
	free := d.argo.addresses()
	for _, name := range d.chosen.clusters {
		c := d.candidate(name)
		if s := d.knownBy(c); s != nil {
			others = append(others, name+" by "+s.Name)
			if c.wish.account != "" {
				untrusted = append(untrusted, handOver(s, name))
			}
			n++
			continue
		}
		step, trouble := d.importOne(c, free)
		if trouble != nil {
			troubles[name] = trouble
		}
		if step != nil {
			steps = append(steps, *step)
		}
		if c.existing != nil || step != nil {
			n++
		}
	}
	d.clusters = &n
	d.imported = importedAs(n, troubles, others, untrusted)
	return steps
}

// knownBy returns the foreign Secret of a chosen cluster, for example a manually created Secret; nil for none.
// Generators need no more. The Secret also counts if the GitOpsCluster wants credentials. The owner of the Secret has
// put in the wanted credentials, and Towline must not replace them with a token unasked.
func (d *decision) knownBy(c *candidate) *corev1.Secret {
	if c.cluster == nil || c.existing != nil {
		return nil
	}
	return d.argo.byCluster[c.name]
}

func (d *decision) candidate(name string) *candidate {
	c := &candidate{name: name, cluster: d.Clusters[name], existing: d.argo.mine[name]}
	if s := d.Taken[name]; c.existing == nil && s != nil && isOurs(s, name) {
		c.existing = s
	}
	c.wish, c.decides = d.wishFor(c.existing)
	return c
}

// isOurs reports whether a Secret unknown to the cache is Towline's Secret for a cluster. Either the cache is behind,
// or a user has removed the labels.
func isOurs(s *corev1.Secret, cluster string) bool {
	_, written := s.Annotations[apis.AnnotationGitOpsClusters]
	of := clustersecret.Cluster(s)
	return of == cluster || of == "" && written
}

// importOne returns the write for a cluster, nil for none, and the problem to report. If the new credentials are not
// available, an existing Secret keeps the old credentials, and a new Secret has to wait.
func (d *decision) importOne(c *candidate, free *addresses) (*Step, *block) {
	on, intent := subject{candidate: c}, Follow
	if c.existing == nil {
		intent = Add
	}
	if c.cluster != nil && (c.existing != nil || d.argo.rival(c.cluster) == nil) {
		c.server, c.usable = free.of(c.cluster)
	}
	if b := d.firstBlock(intent, on); b != nil {
		return nil, b
	}
	i := clustersecret.Import{
		Cluster: c.cluster, Server: c.server, Owner: d.Key(), Claims: d.Claims, Blank: c.wish.blank,
	}
	var untrusted *block
	if c.wish.account != "" {
		if untrusted = d.firstBlock(Trust, on); untrusted == nil {
			i.Credentials = d.credentials(c.name, c.wish.account)
		}
		i.Keep = untrusted != nil
	}
	if c.existing == nil && untrusted != nil {
		return nil, untrusted
	}
	told := d.firstBlock(Agree, on)
	if c.existing == nil {
		return &Step{Verb: Create, Object: clustersecret.New(d.namespace(), i), Cluster: c.name}, told
	}
	if told == nil || untrusted != nil && told.reason != apis.ReasonSecretConflict {
		told = untrusted
	}
	if after, changed := clustersecret.Update(c.existing, i); changed {
		return &Step{Verb: Update, Was: c.existing, Object: after, Cluster: c.name}, told
	}
	return nil, told
}

// handOver returns the command that hands a foreign Secret over to Towline.
func handOver(s *corev1.Secret, cluster string) string {
	return fmt.Sprintf("kubectl -n %s label secret %s %s=true %s=%s", s.Namespace, s.Name, apis.LabelImported, apis.LabelClusterName, cluster)
}

// importedAs returns the condition for n clusters with Secrets, clusters with problems, and clusters with foreign
// Secrets. untrusted are the commands to hand over Secrets that would then get a token.
func importedAs(n int32, troubles map[string]*block, others, untrusted []string) verdict {
	if len(troubles) == 0 {
		message := count(int(n)) + " imported"
		if len(others) > 0 {
			message += "; of these, the Argo CD knows " + count(len(others)) + " by Secrets that do not belong to Towline and stay unchanged: " +
				some(others)
		}
		if len(untrusted) > 0 {
			over := "hand each Secret over"
			if n := len(untrusted); n > 1 {
				over += fmt.Sprintf(", the first of %d by", n)
			}
			message += ". Towline puts no token into these Secrets: Argo CD pushes with the credentials of the Secrets' owners. To use tokens, " + over +
				": " + untrusted[0]
		}
		return yes(apis.ReasonImported, message)
	}
	clusters := slices.Sorted(maps.Keys(troubles))
	var messages []string
	for _, cluster := range clusters {
		if words := troubles[cluster].words; len(messages) < 3 && !slices.Contains(messages, words) {
			messages = append(messages, words)
		}
	}
	return no(&block{troubles[clusters[0]].reason, "problems with " + some(clusters) + ". " + join(messages)})
}
