// Package reading is how the hub is read with the rights of a person: which kinds there are and where, without asking the API server, who may not
// be allowed to tell, and what that person may not read, in words. `kubectl towline` and the status page read with it.
package reading
