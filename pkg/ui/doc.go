// Package ui is the status page: what a fleet looks like, as HTML for people. `kubectl towline dashboard` serves it on the user's
// own machine, and `towline-ui` in the hub behind a proxy that knows who asks.
//
// It only reads, and only with the rights of whoever asks: a Source gives each request its Hub. It has no rules of its own either: what is
// shown is what pkg/view and pkg/why make of the objects. All text of clusters is only ever text: html/template escapes it, what cannot
// be seen is taken out of it, and <bdi> keeps it from turning what stands beside it. No page needs anything from another host.
package ui
