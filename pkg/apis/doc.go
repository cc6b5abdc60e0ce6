// Package apis holds every name that Towline shares with other software: labels, annotations, finalizers,
// condition types and event reasons. The groups below it hold the types; this package holds only constants,
// so that anything may import it.
//
// A value here is read or written by something that is not Towline (ApplicationSet templates, kubectl, the
// work agent, Argo CD, an installation of an older pull controller). Changing one breaks users.
package apis
