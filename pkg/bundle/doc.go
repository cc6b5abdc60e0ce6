// Package bundle redacts objects, logs and metrics for an issue. It removes the data of Secrets and ConfigMaps, and
// the values of environment variables, Helm, Kustomize, plugins and generators. It also removes the content of sync
// requests, foreign annotations, and credentials anywhere in a text.
//
// In case of doubt, the package removes the value and keeps the key. The package has no client: kubectl towline
// bundle reads the objects, with the rights of the user, and never reads Secrets.
package bundle
