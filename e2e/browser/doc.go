// Package browser has the tests of the status page, and of the extension of Argo CD's UI, in a real browser: Debian's
// chromium. make test installs chromium if it is missing. With npm, axe-core also checks every page, and React draws the
// extension, in the versions of package-lock.json. The product contains nothing from npm.
package browser
