// Package envtest has the tests of all controllers together against an API server, which is a real kube-apiserver with
// etcd. The package has only tests, and no program imports the package.
package envtest
