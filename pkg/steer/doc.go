// Package steer tells what to write on the hub for each thing that a person can ask of an Application: the right object, key and
// value, bound to the version that was read, or a refusal with the reason and what to do in its place. It tells also when the
// effect can be seen on the hub.
//
// It decides nothing of what becomes of an Application: that is pkg/delivery, which reads what is written here. It has no client:
// kubectl towline reads and writes, with the rights of whoever asks.
package steer
