// Package hub reads the hub for the status page, with the rights of one person: the user of the kubeconfig (One), or
// the user of the bearer token in each request (Tokens). The page names the objects that the person may not read.
//
// For each identity, the package lists Applications and clusters once and watches both. Identities never share reads:
// only the identity that read an object sees the object. Equal values of several identities share memory (package
// unique), which gives no identity more than the API server gave.
package hub
