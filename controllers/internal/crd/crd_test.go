package crd

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestToldOnce(t *testing.T) {
	changed := make(chan struct{}, 1)
	handler := toldOnce(changed)
	see := func(uid types.UID, generation int64, want int) {
		t.Helper()
		handler.OnUpdate(nil, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation}})
		if len(changed) != want {
			t.Errorf("%s/%d: told %d times, want %d", uid, generation, len(changed), want)
		}
		if len(changed) > 0 {
			<-changed
		}
	}
	see("a", 1, 0) // the CRD at the start
	see("a", 1, 0) // a change of the CRD's status
	see("a", 2, 1)
	see("b", 2, 1) // a deleted and recreated CRD
}

// TestLook: all looks follow a change of the CRD, a second change starts the looks anew, and no look happens without a
// change.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		changed, n := make(chan struct{}), 0
		go look(ctx, changed, func() { n++ })
		expect := func(after time.Duration, want int) {
			t.Helper()
			<-time.After(after)
			synctest.Wait()
			if n != want {
				t.Errorf("%d looks, want %d", n, want)
			}
		}
		expect(time.Hour, 0)
		changed <- struct{}{}
		expect(2*time.Second, 1)
		changed <- struct{}{}
		expect(2*time.Second, 2)
		expect(time.Hour, 4)
	})
}
