// Package ocm pins the fleet's version of Open Cluster Management, and checks Towline against its code. The tests pass
// Towline's works through the work agent's own reader and the webhook's own validation. The tests read the golden files
// of the root module, so neither module needs the other.
package ocm
