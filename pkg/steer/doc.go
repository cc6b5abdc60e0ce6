// Package steer tells how to write a person's request on the hub: the right object, key and value, bound to the read
// version. A request that cannot work gets a refusal with the reason and an alternative. The package also tells when
// the hub shows the effect.
//
// The package makes no decisions about an Application: pkg/delivery decides, based on the written objects. The package
// has no client: kubectl towline reads and writes, with the rights of its user.
package steer
