package faults

// Brief are the points of `make test`. The points are always the same, and each point meets its fault on any machine:
// the flow always has enough writes. A point that does not meet its fault fails. The points cover all kinds of faults,
// and all sorts of flows.
var Brief = []string{
	"create/lost/1", "create/kill-after/1", "create/500/2",
	"change/409/3", "change/500/4", "change/watch-lags/manifestworks",
	"operation/lost/3", "operation/cut/4", "operation/kill-before/3", "operation/watch-ends/manifestworks",
	"pause/delay/3",
	"move/cut/3", "move/kill-after/4", "move/watch-expires/applications",
	"namespace/kill-after/3",
	"release/410/3", "release/kill-before/4",
	"adopt-always/429/1",
	"revoke/lost/3",
	"delete/500/4", "delete/kill-after/3", "delete/watch-stops/applications",
	"project-change/cut/2", "credential-change/410/2", "objects-delete/429/3",
	"gitopscluster/409/2",
	"set/delay/3",
	"cluster-deleted/kill-before/3",
	"report-change/kill-before/2",
}
