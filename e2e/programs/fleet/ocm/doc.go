// Package ocm checks Towline against the code of the fleet's Open Cluster Management. The tests pass
// Towline's works through the work agent's own reader and the webhook's own validation. The tests read the golden files
// of the root module, so neither module needs the other.
package ocm
