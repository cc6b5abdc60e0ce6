package simulation

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

var plansFile = flag.String("simulation.plans", "", "the file to write a digest of the plans of each schedule to; see the script same")

// keepPlans notes the digest of the plans of a schedule.
func (r *runner) keepPlans(seed uint64, w *World) {
	if !w.options.Plans {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plans = append(r.plans, fmt.Sprintf("%d %016x", seed, uint64(w.plans)))
}

// writePlans adds the sorted digests to the file.
func (r *runner) writePlans() {
	if len(r.plans) == 0 {
		return
	}
	slices.Sort(r.plans)
	file, err := os.OpenFile(*plansFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(strings.Join(r.plans, "\n") + "\n")
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		r.t.Error(err)
	}
}
