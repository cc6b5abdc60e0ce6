// Package hub reads the hub for the status page, with the rights of one person: of the kubeconfig (One), or of the bearer token that comes with each
// request (Tokens). What that person may not read is told as such.
//
// Applications and clusters are listed once and watched for each identity, and never shared between two: what the API server gives to
// one is shown to that one alone. Of what is kept, equal values are in memory once (package unique), which gives nobody anything that the API
// server did not give.
package hub
