package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// coldSeconds are the shares of the programs in a cold build of a fleet with one version of Argo CD, which takes about 22
// minutes on two cores. The first program of a module compiles most packages of the module. The shares come from the
// times of the files of one build on a busy machine, scaled to 22 minutes.
var coldSeconds = map[string]float64{
	"etcd": 53, "kube-apiserver": 292, "kubectl": 42, "kube-controller-manager": 132, "kube-scheduler": 10,
	"work": 334, "placement": 5, "registration": 3, "addon": 3, "argocd": 310, "kwok": 118, "kustomize": 20,
}

// unknownSeconds is the share of a program without a measured share.
const unknownSeconds = 60

func secondsOf(prog program) float64 {
	if seconds, ok := coldSeconds[prog.name]; ok {
		return seconds
	}
	return unknownSeconds
}

// An estimate predicts the time until the missing programs are built.
type estimate struct {
	left, done float64 // expected seconds of the missing programs, and of the programs that this build built
	spent      time.Duration
}

// newEstimate returns the estimate for the programs that are missing in the cache.
func (b *Builder) newEstimate(sets []programSet) (*estimate, error) {
	e := &estimate{}
	for _, set := range sets {
		folder, err := b.folderOf(set)
		if err != nil {
			return nil, err
		}
		for _, prog := range set.programs {
			if _, err := os.Stat(filepath.Join(folder, prog.name)); err != nil {
				e.left += secondsOf(prog)
			}
		}
	}
	return e, nil
}

// built notes that a program is built.
func (e *estimate) built(prog program, took time.Duration) {
	e.left = max(0, e.left-secondsOf(prog))
	e.done += secondsOf(prog)
	e.spent += took
}

// remaining returns the predicted time. The programs of this build correct the speed of the machine.
func (e *estimate) remaining() time.Duration {
	speed := 1.0
	if e.done > 0 {
		speed = e.spent.Seconds() / e.done
	}
	return time.Duration(e.left * speed * float64(time.Second))
}

func (e *estimate) String() string {
	left := e.remaining()
	if left < time.Minute {
		return "less than a minute left"
	}
	return fmt.Sprintf("about %.0f min left", left.Minutes())
}
