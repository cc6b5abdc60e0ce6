// Package commands has no code of its own. Its test runs the commands of the documentation against a real API server: kubectl and
// kubectl towline themselves, helm as far as rendering, and make.
//
// The stand-ins in testdata/bin add --dry-run=server to what writes. So the API server checks each request against its objects, and
// each block of the documentation finds the hub of testdata/hub.yaml as it was.
package commands
