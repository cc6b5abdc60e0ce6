// Package ui is the status page: a fleet as HTML for people. `kubectl towline dashboard` serves the page on the user's
// own machine, and `towline-ui` serves the page on the hub behind an authenticating proxy.
//
// The package only reads, and only with the rights of the user: a Source gives each request its Hub. The package has no
// rules of its own: pkg/view and pkg/why interpret the objects. Text from clusters is always plain text: html/template
// escapes the text, invisible characters are removed, and <bdi> isolates the text direction. No page loads content from
// a different host.
package ui
