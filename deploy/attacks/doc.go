// Package attacks contains only tests. The tests run a real API server with Towline's admission policies and roles. The
// tests send forbidden requests in the name of tenants, of clusters' agents and of a thief of Towline's token.
//
// e2e/suite tries the attacks for which a test needs a cluster, an agent or a running Towline.
package attacks
