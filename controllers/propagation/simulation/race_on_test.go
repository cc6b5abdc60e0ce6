//go:build race

package simulation

// slowly is set where the race detector makes each schedule cost ten times as much: make test-simulation runs without.
const slowly = true
