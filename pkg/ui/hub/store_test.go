package hub

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestStore checks that values are found by cluster, and that a block never changes.
func TestStore(t *testing.T) {
	s := store[string]{of: func(v string) (types.NamespacedName, string) {
		parts := strings.Fields(v) // object, cluster, value
		return key(parts[0]), parts[1]
	}}
	had := map[*block[string]]string{}
	for i, tc := range []struct {
		do   func() bool
		says bool
		want string
	}{
		{func() bool { return s.remove(key("a")) }, false, ""},
		{func() bool { return s.set("a c1 a1") }, true, "c1:a1"},
		{func() bool { return s.set("b c1 b1") }, true, "c1:a1,b1"},
		{func() bool { return s.set("b c1 b1") }, false, "c1:a1,b1"},
		{func() bool { return s.set("c c2 c1") }, true, "c1:a1,b1 c2:c1"},
		{func() bool { return s.set("a c1 a2") }, true, "c1:a2,b1 c2:c1"},
		{func() bool { return s.set("b c2 b1") }, true, "c1:a2 c2:b1,c1"},
		{func() bool { return s.set("d c1 d1") }, true, "c1:a2,d1 c2:b1,c1"},
		{func() bool { return s.remove(key("a")) }, true, "c1:d1 c2:b1,c1"},
		{func() bool { return s.remove(key("d")) }, true, "c2:b1,c1"},
		{func() bool { return s.remove(key("d")) }, false, "c2:b1,c1"},
	} {
		if got := tc.do(); got != tc.says {
			t.Errorf("%d: has changed something: %v", i, got)
		}
		var clusters []string
		for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
			clusters = append(clusters, name+":"+text(s.clusters[name]))
			had[s.clusters[name]] = text(s.clusters[name])
		}
		if got := strings.Join(clusters, " "); got != tc.want {
			t.Errorf("%d: %s, want %s", i, got, tc.want)
		}
	}
	for b, was := range had {
		if text(b) != was {
			t.Errorf("a block has changed from %s to %s", was, text(b))
		}
	}
}

func key(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

// text returns the values of a block.
func text(b *block[string]) string {
	var out []string
	for _, v := range b.values {
		out = append(out, strings.Fields(v)[2])
	}
	return strings.Join(slices.Sorted(slices.Values(out)), ",")
}
