package appreport_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appreport"
)

// live returns a node "kind/name" with the given UID and parent.
func live(kind, name, uid, parent string) v1alpha1.TreeNode {
	return v1alpha1.TreeNode{Version: "v1", Kind: kind, Namespace: "guestbook", Name: name, UID: uid, Parent: parent}
}

// inGit is the Deployment of these tests, and a hook.
var inGit = []argocd.ResourceStatus{
	{Version: "v1", Kind: "Deployment", Namespace: "guestbook", Name: "a"},
	{Version: "v1", Kind: "Job", Namespace: "guestbook", Name: "hook", Hook: true},
}

func TestTree(t *testing.T) {
	deployment, set, pod := live("Deployment", "a", "d", ""), live("ReplicaSet", "a-1", "r", "d"), live("Pod", "a-1-x", "p", "r")
	sick := live("Pod", "a-1-z", "s", "r")
	sick.Health = &argocd.Health{Status: "Degraded"}
	with := func(n v1alpha1.TreeNode, edit func(*v1alpha1.TreeNode)) v1alpha1.TreeNode {
		edit(&n)
		return n
	}
	for title, tc := range map[string]struct {
		nodes    []v1alpha1.TreeNode
		want     string // UIDs
		rejected bool
	}{
		"none":                    {nil, "", false},
		"each after its parent":   {[]v1alpha1.TreeNode{pod, set, deployment}, "d r p", false},
		"what is sick first":      {[]v1alpha1.TreeNode{deployment, set, pod, sick}, "d r s p", false},
		"what hangs from nothing": {[]v1alpha1.TreeNode{deployment, pod}, "d", false},
		"nothing in Git":          {[]v1alpha1.TreeNode{set, pod}, "", false},
		"a hook":                  {[]v1alpha1.TreeNode{deployment, live("Job", "hook", "h", ""), live("Pod", "hook-x", "x", "h")}, "d", false},
		"in Git, with a parent":   {[]v1alpha1.TreeNode{with(deployment, func(n *v1alpha1.TreeNode) { n.Parent = "p" }), set, pod}, "d r p", false},
		"a circle":                {[]v1alpha1.TreeNode{live("A", "a", "1", "2"), live("B", "b", "2", "1"), deployment}, "d", false},
		"a circle by names":       {[]v1alpha1.TreeNode{deployment, set, pod, live("ReplicaSet", "a-1", "again", "p")}, "d r p", false},
		"a UID twice":             {[]v1alpha1.TreeNode{deployment, set, live("Pod", "other", "r", "d")}, "d r", false},
		"its own parent":          {[]v1alpha1.TreeNode{deployment, live("Pod", "self", "self", "self")}, "d", false},
		"a UID made of a name":    {[]v1alpha1.TreeNode{deployment, with(set, func(n *v1alpha1.TreeNode) { n.UID = "/Pod/x/y" })}, "d", true},
		"a UID that is long":      {[]v1alpha1.TreeNode{deployment, with(set, func(n *v1alpha1.TreeNode) { n.UID = strings.Repeat("a", 65) })}, "d", true},
		"a name that steers":      {[]v1alpha1.TreeNode{deployment, with(set, func(n *v1alpha1.TreeNode) { n.Name = "\x1b[31m" })}, "d", true},
		"a health that is none": {
			[]v1alpha1.TreeNode{with(deployment, func(n *v1alpha1.TreeNode) { n.Health = &argocd.Health{Status: "Fine"} })}, "d", true,
		},
		"a time that is none": {[]v1alpha1.TreeNode{with(deployment, func(n *v1alpha1.TreeNode) { n.CreatedAt = "soon" })}, "d", true},
	} {
		t.Run(title, func(t *testing.T) {
			r := &v1alpha1.ApplicationReport{Tree: tc.nodes}
			r.Application.Namespace, r.Application.Name = key.Namespace, key.Name
			before := r.DeepCopy()
			nodes, rejected := appreport.Tree(r, key, inGit)
			var uids []string
			for _, n := range nodes {
				uids = append(uids, n.UID)
				if n.Health != nil && n.Health.Status == "Fine" || n.CreatedAt == "soon" {
					t.Errorf("believed: %+v", n)
				}
			}
			if got := strings.Join(uids, " "); got != tc.want || rejected != tc.rejected {
				t.Errorf("got %q, rejected %t", got, rejected)
			}
			if diff := cmp.Diff(before, r); diff != "" {
				t.Errorf("Tree changed its input:\n%s", diff)
			}
			slices.Reverse(r.Tree)
			if again, _ := appreport.Tree(r, key, inGit); title != "a UID twice" && !cmp.Equal(nodes, again) {
				t.Errorf("in another order:\n%s", cmp.Diff(nodes, again))
			}
			if other, _ := appreport.Tree(r, types.NamespacedName{Namespace: key.Namespace, Name: "other"}, inGit); len(other) > 0 {
				t.Errorf("believed of another Application: %v", other)
			}
		})
	}
}

// TestTreeFits checks a large tree. The nodes most distant from Git and healthy nodes are dropped first, and before any
// part of the status. A report without a tree has the same JSON as before the introduction of trees.
func TestTreeFits(t *testing.T) {
	app := cluster(t, whole)
	app.Status.Resources = inGit
	if data, err := json.Marshal(appreport.Build(app, seen)); err != nil || strings.Contains(string(data), `"tree"`) {
		t.Errorf("got %s, %v", data, err)
	}
	for title, tc := range map[string]struct {
		pods, message int
		left          int // at least
		messages      bool
	}{
		"few":           {pods: 10, message: 10, left: 12},
		"many":          {pods: 2000, message: 10, left: 500},
		"long messages": {pods: 400, message: 2000, left: 402, messages: true},
	} {
		t.Run(title, func(t *testing.T) {
			nodes := []v1alpha1.TreeNode{live("Deployment", "a", "d", ""), live("ReplicaSet", "a-1", "r", "d")}
			for i := range tc.pods {
				n := live("Pod", fmt.Sprintf("a-1-%04d", i), fmt.Sprintf("p%d", i), "r")
				n.Health = &argocd.Health{Status: "Healthy", Message: strings.Repeat("m", tc.message)}
				if i == tc.pods-1 {
					n.Health.Status = "Degraded"
				}
				nodes = append(nodes, n)
			}
			r := appreport.Build(app, seen, nodes...)
			omitted, short := int32(0), false
			if r.Truncated != nil {
				omitted, short = r.Truncated.Tree, r.Truncated.Messages
			}
			if len(r.Tree) < tc.left || len(r.Tree) > 500 || int(omitted) != len(nodes)-len(r.Tree) || short != tc.messages {
				t.Errorf("%d are left, %+v", len(r.Tree), r.Truncated)
			}
			if data, err := json.Marshal(r); err != nil || len(data) > v1alpha1.MaxReportSize {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			if r.Tree[2].Health.Status != "Degraded" {
				t.Errorf("what needs attention is not first: %+v", r.Tree[2])
			}
			if len(r.Status.History) == 0 || len(r.Status.Resources) != len(inGit) {
				t.Error("the tree takes the room of the status")
			}
			if appreport.Digest(r) == appreport.Digest(appreport.Build(app, seen)) {
				t.Error("a tree makes no other digest")
			}
			if got, rejected := appreport.Tree(r, types.NamespacedName{Namespace: app.Namespace, Name: app.Name}, inGit); rejected || !cmp.Equal(got, r.Tree) {
				t.Errorf("what was built is not what is read:\n%s", cmp.Diff(r.Tree, got))
			}
			if appreport.Brief(r); r.Tree != nil {
				t.Error("a brief report has a tree")
			}
		})
	}
}

// FuzzTree feeds trees of a hostile agent. argocd-server must be able to follow each node to its resource in Git, and
// to show the node.
func FuzzTree(f *testing.F) {
	f.Add([]byte(`[{"kind":"Deployment","namespace":"guestbook","name":"a","uid":"d"},{"kind":"Pod","name":"b","uid":"p","parent":"d"}]`))
	f.Add([]byte(`[{"kind":"A","name":"a","uid":"1","parent":"2"},{"kind":"B","name":"b","uid":"2","parent":"1"}]`))
	f.Add([]byte(`[{"kind":"Deployment","namespace":"guestbook","name":"a","uid":"d","health":{"status":"\u001b","message":"\u202e"},"createdAt":"x"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &v1alpha1.ApplicationReport{}
		r.Application.Namespace, r.Application.Name = key.Namespace, key.Name
		if json.Unmarshal(data, &r.Tree) != nil {
			return
		}
		nodes, _ := appreport.Tree(r, key, inGit)
		uids, names := map[string]bool{}, map[[4]string]bool{}
		for _, n := range nodes {
			name := [4]string{n.Group, n.Kind, n.Namespace, n.Name}
			if uids[n.UID] || names[name] || n.Parent != "" && !uids[n.Parent] || n.Parent == "" && n.Name != "a" {
				t.Errorf("%+v is there twice, or hangs from nothing before it", n)
			}
			uids[n.UID], names[name] = true, true
		}
		if len(nodes) > 500 {
			t.Errorf("%d nodes", len(nodes))
		}
		shown, err := json.Marshal(nodes)
		if err != nil {
			t.Fatal(err)
		}
		var list any
		if err := json.Unmarshal(shown, &list); err != nil {
			t.Fatal(err)
		}
		walk(t, "", list)
		r.Tree = nodes
		if again, rejected := appreport.Tree(r, key, inGit); rejected || !cmp.Equal(again, nodes) {
			t.Errorf("what was read reads differently again:\n%s", cmp.Diff(nodes, again))
		}
	})
}
