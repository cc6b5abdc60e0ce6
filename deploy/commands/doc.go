// Package commands contains only tests. The tests run the commands of the documentation against a real API server:
// kubectl and kubectl towline themselves, helm as far as rendering, and make.
//
// The stand-ins in testdata/bin add --dry-run=server to each writing command. So the API server checks each request
// against the hub's objects, and each block of the documentation finds the hub of testdata/hub.yaml unchanged.
package commands
