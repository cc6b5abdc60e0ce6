// Package reading reads the hub with the rights of a user, for `kubectl towline` and the status page. The list of
// kinds and resources is fixed, because the user may have no right to ask the API server. The package notes all
// refused reads in words.
package reading
