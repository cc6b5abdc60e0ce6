//go:build race

package simulation

// slowly is set if the race detector makes each schedule ten times slower: make test-simulation runs without the race
// detector.
const slowly = true
