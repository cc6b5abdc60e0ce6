// Package reading reads the hub with the rights of a person, for `kubectl towline` and the status page. It knows the kinds and their resources
// itself, because a person may not be allowed to ask the API server for them. What the person may not read, it notes in words.
package reading
