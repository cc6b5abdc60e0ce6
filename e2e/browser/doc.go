// Package browser has the tests of the status page, and of the extension of Argo CD's UI, in a real browser: Debian's
// chromium, which .ci/run installs where it is missing. Where there is npm, axe-core looks at every page too, and React draws the extension,
// in the versions of package-lock.json; nothing of npm is in the product.
package browser
