// Package bundle takes out of objects, logs and metrics what nobody may see who gets them with an issue: the data of Secrets and
// ConfigMaps, values of environment variables, of Helm, Kustomize, plugins and generators, what requests for syncs carry, annotations
// of others, and credentials wherever they are in a text.
//
// When in doubt, a value is taken out: its key stays. The package has no client: kubectl towline bundle reads the objects, with the
// rights of whoever asks, and never asks for Secrets.
package bundle
