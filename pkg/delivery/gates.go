package delivery

import "slices"

// Gates returns all reasons to wait, without repeated names: the checks, the steps of all lists in the order for a
// reader, and the notices.
func Gates() (all []*Gate) {
	for _, list := range [][]*Gate{
		checks, arriving, relocating, removing, revocable, revoking, dropping, releasingSteps, handingOver, keeping, orphaned, outlasting, notices,
	} {
		for _, g := range list {
			if !slices.ContainsFunc(all, func(known *Gate) bool { return known.Name == g.Name }) {
				all = append(all, g)
			}
		}
	}
	return all
}

// notices are the gates outside of the lists. A notice appears during the execution of a decision.
var notices = []*Gate{
	oldClusterWaits, operationForbidden, operationUnread, payloadInvalid, writeRefused, adoptionRefused, editedAgain, moveNotice,
	releaseNotice, releasedNotice, deletionNotice, revocationNotice, frozenNotice,
}
