// Package maestro pins the Maestro that a fleet can run in the hub's place as the keeper of works. It holds two
// programs: server, which is Maestro's own, and source, which gives Maestro works as a controller would.
//
// # A transport for Towline
//
// Towline reads works through controller-runtime's cache, reads them live through its API reader, and writes them in one
// place, controllers/internal/works; besides that there is the dry run of a create in controllers/propagation. So a
// transport needs no interface of its own. It needs three things for the one type ManifestWork:
//
//   - a ListerWatcher, which the cache's NewInformer takes instead of the API server's: indexes, trimming, events and
//     handlers stay as they are;
//   - a client.Client that answers Get, List, Create, Patch and Delete of works from Maestro, and gives all else to the hub;
//   - the same for the API reader.
//
// Maestro's own client is no base for it: it decodes a work into types that are older than the agents, and loses what they
// do not know. A source needs four calls: Publish and Subscribe of the CloudEvents service over gRPC, and reading and
// listing over REST. The program source makes the first with 95 packages that Towline has not, gRPC's most of them; Maestro's
// client has 153. So the controller with Maestro is a program of its own, in a module of its own, over the same controllers.
//
// # Where Maestro differs
//
// Guarantees of the hub's API that Towline leans on, and how each can be kept. What is said of Maestro was read in the source
// of the version that go.mod names, and is yet to be tried. The transport itself is not built.
//
//	create fails if the name is taken   A work is known by an id that the source chooses, and a second create of an id
//	                                    fails. An id made from source, cluster and name keeps names unique.
//	a UID tells a work from its         An id made so is the same again, so a generation of the name belongs into the
//	successor                           metadata extension that travels with the work.
//	a patch meets the version read      Update compares the version, and answers a conflict. Version 0 means "whatever
//	                                    there is": never send it with an update.
//	a status write loses no spec write  Not kept by Maestro: a status is written with the whole row that was read before,
//	                                    under another lock than a spec. Compare what Maestro has with what is wanted at
//	                                    each event and list, and write again where an older spec has come back.
//	what is read is what was written    Not kept by Maestro: agents get a payload as it came, but REST and Subscribe give
//	                                    it through older types. Write a hash of the spec into the metadata extension,
//	                                    which is given back whole, and compare that.
//	a delete meets the version read     Delete takes an id alone. Write a mark with the version first, as an update; who
//	                                    wins that may delete.
//	labels, annotations and finalizers  They travel in one extension of the event, are part of the payload, and change
//	                                    with an update. The agent's finalizer is Maestro's soft delete.
//	any manifest may come or go         Not kept by Maestro: an update must have as many manifests as before, of the same
//	                                    kinds and names in the same order. A work of companions that changes is
//	                                    therefore several works, or a new one before the old one goes.
//	feedback says of which version      A status carries the version it is of, and Maestro drops that of another one.
//	every change is told of             Not kept by Maestro: what happens while a source is away is not sent again. List
//	                                    after each connect, and compare, as the cache does after a watch that ended.
//	a list is of one moment             Pages are read one after the other. A work that is missing in a list is proof of
//	                                    nothing: read it live before anything follows from that.
//	a restore from a backup is seen     Versions go back; a version lower than one seen before is a restore, and is
//	                                    treated as that of a hub.
//	rights for each cluster             A token or certificate has the rights of a source, for all its clusters. That an
//	                                    agent changes status only is a right on the broker's topics.
package maestro
