// Package git runs the git program: reads and fetches a remote repository into a bare mirror, and answers Git's smart
// HTTP protocol from the mirror, read-only.
package git
