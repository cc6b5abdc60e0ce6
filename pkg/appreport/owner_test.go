package appreport_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/appreport"
)

func TestDecideOwner(t *testing.T) {
	now := metav1.Now()
	there := &metav1.ObjectMeta{Name: "w", UID: "new"}
	going := &metav1.ObjectMeta{Name: "w", UID: "new", DeletionTimestamp: &now}
	for title, tc := range map[string]struct {
		owner types.UID
		age   time.Duration
		work  *metav1.ObjectMeta
		want  appreport.OwnerStep
	}{
		"the owner is the work":                  {"new", time.Hour, there, appreport.OwnerKeep},
		"no owner":                               {"", 0, there, appreport.OwnerSet},
		"the work was recreated":                 {"old", time.Hour, there, appreport.OwnerSet},
		"the work is being deleted":              {"", time.Hour, going, appreport.OwnerKeep},
		"the work is gone, and was the owner":    {"old", time.Hour, nil, appreport.OwnerKeep},
		"the work is not known yet":              {"", time.Second, nil, appreport.OwnerAwait},
		"the work is gone, and was no owner yet": {"", appreport.OwnerGrace, nil, appreport.OwnerDelete},
	} {
		if got := appreport.DecideOwner(tc.owner, tc.age, tc.work); got != tc.want {
			t.Errorf("%s: %s, want %s", title, got, tc.want)
		}
	}
}

func TestOwner(t *testing.T) {
	good := appreport.OwnerOf(&metav1.ObjectMeta{Name: "w", UID: "u"})
	with := func(refs ...metav1.OwnerReference) types.UID {
		r := &v1alpha1.ApplicationReport{}
		r.Name, r.OwnerReferences = "w", refs
		return appreport.Owner(r)
	}
	if got := with(good); got != "u" {
		t.Errorf("its work: %q", got)
	}
	other, long, kind := good, good, good
	other.Name, long.UID, kind.Kind = "x", types.UID(strings.Repeat("u", 65)), "Namespace"
	for title, refs := range map[string][]metav1.OwnerReference{
		"none": nil, "another work": {other}, "another kind": {kind}, "no UID of an API server": {long}, "two": {good, other},
	} {
		if got := with(refs...); got != "" {
			t.Errorf("%s: %q", title, got)
		}
	}
}
