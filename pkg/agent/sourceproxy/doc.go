// Package sourceproxy runs in the agent, on a managed cluster. It serves Git repositories of the hub to the cluster's
// Argo CD, for clusters without a route to Git.
//
// argocd-repo-server connects to the proxy over HTTPS, with a password. The proxy forwards the read requests of Git's
// smart HTTP protocol to the hub's API server, with the identity of the agent, and streams both directions. The hub
// decides about each request. The proxy forwards no credentials of its clients, and refuses all other requests.
//
// The proxy keeps the hub's last answers about references in memory. While the hub cannot be reached, the proxy repeats
// a kept answer, so that Argo CD can still resolve branches and tags. As soon as the hub refuses a repository, the proxy
// forgets the answers of the repository.
//
// The Reconciler writes the password and the proxy's certificate authority for Argo CD. The agent may not create the
// objects. The add-on's manifest brings empty Secrets.
//
// agent.Add is the only caller.
package sourceproxy
