package envtest_test

import (
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-io/towline/pkg/apis"
)

// lateKind is the REST mapper of a hub that gets the CRD of a kind later.
type lateKind struct {
	meta.RESTMapper
	kind      string
	installed *atomic.Bool
}

func (m lateKind) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if kind.Kind == m.kind && !m.installed.Load() {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return m.RESTMapper.RESTMapping(kind, versions...)
}

func TestHubThatGetsTheCRDOfGitOpsClustersLater(t *testing.T) {
	installed := &atomic.Bool{}
	startWith(t, func(m meta.RESTMapper) meta.RESTMapper { return lateKind{m, "GitOpsCluster", installed} })
	ns, c := namespace(t, unique("argo")), cluster(t)
	decide(t, ns, c)
	g := gitOpsCluster(t, ns)
	app := application(t, c).Obj()
	create(t, app)
	expectWork(t, app)
	w := NewWithT(t)
	w.Expect(get(t, g.DeepCopy()).Status.Conditions).To(BeEmpty())
	installed.Store(true)
	w.Eventually(secretOf(t, ns, c), soon, tick).ShouldNot(BeNil())
}

// TestHubThatGetsTheCRDOfApplicationSetsLater: after the installation of the CRD, ApplicationSets pause their
// Applications, without a restart.
func TestHubThatGetsTheCRDOfApplicationSetsLater(t *testing.T) {
	installed := &atomic.Bool{}
	startWith(t, func(m meta.RESTMapper) meta.RESTMapper { return lateKind{m, "ApplicationSet", installed} })
	set := pausable(t)
	app := application(t, cluster(t)).Namespace(set.GetNamespace()).ApplicationSet(set.GetName()).Obj()
	create(t, app)
	expectWork(t, app)
	annotate(t, set, "true")
	settled(t)
	expectNoNotice(t, app, apis.ConditionPausedWarning)
	installed.Store(true)
	expectNotice(t, app, apis.ConditionPausedWarning, "ApplicationSet "+set.GetNamespace())
}
