package fleet

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestEstimate(t *testing.T) {
	etcd, apiserver, other := program{name: "etcd"}, program{name: "kube-apiserver"}, program{name: "other"}
	e := &estimate{left: secondsOf(etcd) + secondsOf(apiserver) + secondsOf(other)}
	if got := e.String(); got != "about 7 min left" {
		t.Errorf("before the first program: %q", got)
	}
	e.built(etcd, 2*53*time.Second) // half the expected speed
	if got, want := e.remaining(), 2*(292+unknownSeconds)*time.Second; got != want {
		t.Errorf("on a slow machine: %v, want %v", got, want)
	}
	e.built(apiserver, 0)
	e.built(other, 0)
	if got := e.String(); got != "less than a minute left" {
		t.Errorf("after the last program: %q", got)
	}
}

// TestEstimateCountsMissingPrograms checks that a program of the cache has no share.
func TestEstimateCountsMissingPrograms(t *testing.T) {
	source, set := tinyModule(t)
	var progress bytes.Buffer
	b := Builder{CacheDir: t.TempDir(), SourceDir: source, Progress: &progress}
	before, err := b.newEstimate([]programSet{set})
	if err != nil || before.left != unknownSeconds {
		t.Errorf("before the build: %v, %v", before, err)
	}
	if _, err := b.build(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if want := "building tiny (1 of 1, about 1 min left)\n"; !strings.HasPrefix(progress.String(), want) {
		t.Errorf("got %q, want %q", progress.String(), want)
	}
	if after, err := b.newEstimate([]programSet{set}); err != nil || after.left != 0 {
		t.Errorf("after the build: %v, %v", after, err)
	}
}

func TestEveryProgramHasAShare(t *testing.T) {
	for _, set := range allSets {
		for _, prog := range set.programs {
			if coldSeconds[prog.name] == 0 {
				t.Errorf("coldSeconds lacks %s", prog.name)
			}
		}
	}
}
