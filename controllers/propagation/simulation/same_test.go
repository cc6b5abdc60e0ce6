package simulation

import "testing"

// TestSameSeed: a seed always makes the same steps, the same plans and the same end of the world.
func TestSameSeed(t *testing.T) {
	for i, profile := range everyProfile {
		p, other := profile(), profile()
		p.Plans, other.Plans = true, true
		for seed := *from; seed < *from+50; seed++ {
			other.Run(seed + 1000) // the profiles know other beginnings
			steps, w := p.Run(seed)
			again, v := other.Run(seed)
			if Script(steps) != Script(again) || w.plans != v.plans || w.state() != v.state() || w.String() != v.String() {
				t.Fatalf("profile %d, seed %d: plans %016x\n%s\n%s\nand then plans %016x\n%s\n%s",
					i, seed, uint64(w.plans), Script(steps), w, uint64(v.plans), Script(again), v)
			}
			if slowly && seed == *from+10 {
				break
			}
		}
	}
}
