// Package credential chooses the hub's credential for a repository by Argo CD's rules, and hands the credential to git.
package credential
