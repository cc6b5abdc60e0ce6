package delivery

import "slices"

// Gates are all reasons to wait, each name once: the checks, the steps of every list in the order in which a reader meets the lists, and the
// notices.
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

// notices are the gates that no list asks: each is shown while a decision is carried out.
var notices = []*Gate{
	oldClusterWaits, operationForbidden, operationUnread, payloadInvalid, writeRefused, adoptionRefused, editedAgain, moveNotice,
	releaseNotice, releasedNotice, deletionNotice, revocationNotice, frozenNotice,
}
