//go:build !race

package simulation

const slowly = false
