// Package mirror keeps bare mirrors of the served repositories on the disk. All clusters share a mirror, and a change in
// Git is fetched once.
package mirror
