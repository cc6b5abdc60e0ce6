package work_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// requested returns the work before with a request for a sync, and whether the work stores the replaced Application.
func requested(t *testing.T, before *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	t.Helper()
	out := before.DeepCopy()
	out.Annotations[apis.AnnotationRequestSent] = relay.Sent{State: relay.OnItsWay, ID: "1-a", Version: "7", Instead: work.Brings(before)}.String()
	if err := work.Carry(out, fixture.Application("guestbook").Obj(), work.Request{Operation: []byte(`{"sync":{}}`), Version: "7"}); err != nil {
		t.Fatal(err)
	}
	work.KeepReplaced(out, before)
	_, fits := work.PackReplaced(before)
	return out, fits
}

// TestReplaced: a work with a request stores the replaced Application.
func TestReplaced(t *testing.T) {
	for title, tc := range map[string]struct {
		spec string
		runs bool
	}{
		"automated sync": {spec: `{"destination":{},"syncPolicy":{"automated":{}}}`, runs: true},
		"hydration":      {spec: `{"destination":{},"sourceHydrator":{"drySource":{"repoURL":"r"}}}`, runs: true},
		"sync by hand":   {spec: `{"destination":{}}`},
	} {
		t.Run(title, func(t *testing.T) {
			before := sentWith(t, tc.spec)
			w, fits := requested(t, before)
			got, raw := work.Replaced(w)
			if !fits || raw == nil || work.RunsByItself(w) != tc.runs {
				t.Fatalf("fits %v, stored %s, runs by itself %v", fits, raw, work.RunsByItself(w))
			}
			want, _ := work.Carried(before)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the stored Application differs (-want +got):\n%s", diff)
			}
			again := before.DeepCopy()
			if work.KeepReplaced(again, w); again.Annotations[apis.AnnotationReplaced] != w.Annotations[apis.AnnotationReplaced] {
				t.Error("a second request loses the Application")
			}
			w.Spec.ManifestConfigs[0].ResourceIdentifier.Name = "other"
			if held, _ := work.Replaced(w); held != nil {
				t.Error("an Application of a different name counts")
			}
			if held, _ := work.Replaced(before); held != nil {
				t.Error("a work without a request has a replaced Application")
			}
		})
	}
}

// TestReplacedIsBounded: the annotation of a work has a limit, on the way in and on the way out.
func TestReplacedIsBounded(t *testing.T) {
	noise := make([]byte, 200<<10)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	value, err := json.Marshal(base64.StdEncoding.EncodeToString(noise))
	if err != nil {
		t.Fatal(err)
	}
	large := sentWith(t, `{"destination":{},"syncPolicy":{"automated":{}},"x":`+string(value)+`}`)
	if w, fits := requested(t, large); fits || w.Annotations[apis.AnnotationReplaced] != "" {
		t.Error("a large Application is stored")
	}
	w, fits := requested(t, sentWith(t, `{"destination":{},"syncPolicy":{"automated":{}},"x":"`+strings.Repeat("x", work.MaxPayload-2000)+`"}`))
	if held, _ := work.Replaced(w); !fits || held == nil {
		t.Errorf("a compressible Application: %v, %v", fits, held)
	}
	for _, text := range []string{"", "?", "H4sIAAAAAAAA", base64.StdEncoding.EncodeToString([]byte("{}"))} {
		w.Annotations[apis.AnnotationReplaced] = text
		if held, _ := work.Replaced(w); held != nil || !work.RunsByItself(w) {
			t.Errorf("%q is read", text)
		}
	}
}

// TestFreezePutBackOfTheReplaced: the frozen Application is the replaced Application without automated sync, also if the
// hub's Application has changed since.
func TestFreezePutBackOfTheReplaced(t *testing.T) {
	before := sentWith(t, `{"destination":{},"source":{"path":"old"},"syncPolicy":{"automated":{},"retry":{"limit":2}}}`)
	w, _ := requested(t, before)
	app := fixture.Application("guestbook").Cluster("cluster1").Spec(`{"destination":{},"source":{"path":"new"}}`).Obj()
	got, changed := work.FreezePutBack(w, app, relay.Sent{})
	if !changed {
		t.Fatal("no change")
	}
	want, _ := work.Freeze(before)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
