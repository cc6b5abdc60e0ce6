package delivery

import (
	"os"
	"strings"
	"testing"
)

// documented are the rows of docs/lifecycle.md, by the beginning of the first two cells, with the cases of the
// tables. A dash marks a row decided outside of this package, with the deciding component.
var documented = map[string][]string{
	"delivered to A | the cluster annotation says B": {
		"TestMove/sent, not applied", "TestMove/healthy", "TestMove/applied, not healthy in time",
	},
	"delivered to A, `move-order: old-first`":          {"TestMove/old first"},
	"moving to B | the annotation says A again":        {"TestMove/healthy"},
	"moving to B | B is unreachable":                   {"TestMove/sent, not applied"},
	"moving, old-first | B is known to be unreachable": {"TestMove/old first, and the new cluster is away"},
	"moving, old-first | A is unreachable":             {"TestMove/old first"},
	"delivered to B, and on A by a work of an older controller": {
		"TestOlderMoved/healthy", "TestOlderMoved/not healthy in time", "TestOlderMoved/old first"},
	"delivered | `release: \"true\"`": {"TestRelease/sent", "TestRelease/its label is gone", "TestRelease/its label is false",
		"TestRelease/its label is false, and Argo CD ends it",
		"TestDeliver/the hub's own Argo CD", "TestEnd/no cluster named"},
	"delivered | skip-reconcile alone is gone": {"TestHandOver/skip-reconcile alone is gone"},
	"delivered | skip-reconcile and the pull label are gone": {
		"TestHandOver/the label and skip-reconcile are gone", "TestHandOver/and all is done there"},
	"deployed by the hub's own Argo CD": {"TestHubOperation/begun on the hub", "TestHubOperation/begun, and given up"},
	"made, and released before":         {"TestRelease/unseen"},
	"reported on by a cluster before":   {"TestRelease/unseen, and reported on"},
	"delivered | `…/ocm-managed-cluster-app-namespace`": {
		"TestMove/a new namespace", "TestMove/a new namespace, and the finalizers are removed",
	},
	"changing the namespace on the cluster | users": {"TestMove/a new namespace, and foreign finalizers hold the Application"},
	"changing the namespace on the cluster | the cluster does not": {
		"- the status controller shows what the agent says, and TestAdopt/others set its fields",
		"TestAdopt/others set its fields",
	},
	"changing the namespace on the cluster | the cluster's API server": {"TestMove/a new namespace, and the Application cannot be read"},
	"leaving the target, in any way":                                   {"TestDeliver/a second Application is still on the target"},
	"being released | taken back":                                      {"TestRelease/taken back"},
	"released | taken back":                                            {"TestDeliver/a new Application"},
	"released | taken back, when another": {
		"TestDeliver/an older Application has the target", "TestDeliver/a second Application is still on the target",
	},
	"being released | the hub's Application is deleted": {
		"TestEnd/released", "TestRelease/its label is false, deleted, without a cluster",
	},
	"released | the hub's Application is deleted": {
		"TestEnd/released, and nowhere", "TestRelease/its label is gone, deleted",
	},
	"being released | the cluster is unreachable":               {"TestRelease/not applied"},
	"being released | taken back, and deleted":                  {"TestEnd/while it is released"},
	"delivered | the cluster annotation names no known cluster": {"TestDeliver/no such cluster"},
	"delivered | `paused: \"true\"`":                            {"TestDeliver/paused"},
	"delivered | somebody on the cluster edits": {
		"TestEdits/the first edit", "TestEdits/a second edit, at once", "TestEdits/many edits, and a new edit",
	},
	"delivered | an older controller with a disabled pull model": {"TestDisabled/changed on the hub", "TestDisabled/paused", "TestDisabled/deleted",
		"TestDisabled/released"},
	"delivered | a rule refuses the Application, or":        {"TestDeliver/not permitted", "TestFreeze/withdrawn", "TestFreeze/frozen"},
	"delivered, and frozen | permitted again":               {"TestFreeze/permitted again"},
	"delivered | a rule refuses the Application on the hub": {"TestFreeze/the hub's spec alone is refused"},
	"delivered | the right is lost, and the Application is paused": {"TestFreeze/paused by its author", "TestFreeze/released by its author",
		"TestFreeze/on a paused cluster"},
	"delivered, `--on-revocation=delete` | a rule":     {"TestRevoke/refused", "TestRevoke/refused a moment ago"},
	"delivered, `--on-revocation=delete` | the object": {"TestRevoke/the permission is missing"},

	"`matching`, the default | has the same content":      {"TestDeliver/a new Application"},
	"`matching` | has different content":                  {"TestAdopt/others set its fields"},
	"`matching` | differs, and is made equal":             {"TestAdopt/others set its fields"},
	"`always` | has any content":                          {"TestAdopt/a new Application, always", "TestAdopt/always, where others set its fields"},
	"`never` | has any content":                           {"TestAdopt/looked, and found an Application"},
	"`never` | came from the same Application of the hub": {"TestAdopt/looked, and found the work's own Application"},
	"`never` | does not exist":                            {"TestAdopt/looked, and found nothing"},

	"Argo CD's finalizer, any form | deleted":            {"TestEnd/sent", "TestEnd/going"},
	"no finalizer | deleted":                             {"TestEnd/without a finalizer", "TestOrphan/ended"},
	"finalizer taken off, then deleted":                  {"TestOrphan/ended"},
	"an operation runs on the cluster | deleted":         {"TestEnd/an operation runs"},
	"destroying finalizer, put on just before | deleted": {"TestEnd/put on just before"},
	"destroying finalizer, but somebody on the cluster removed": {
		"TestEnd/its finalizer was removed there", "TestEnd/its finalizer was removed there, and is back", "TestEnd/its finalizer was removed there again"},
	"a request is on its way | deleted":                              {"TestRelay/deleted, and on its way"},
	"the same, but a cluster had reported on the Application before": {"TestEnd/unseen, and made anew"},
	"gone from the hub, and the agent cannot read":                   {"TestOrphan/ended, and the Application cannot be read"},
	"never sent | deleted":                                           {"TestEnd/never sent"},
	"without skip-reconcile":                                         {"TestEnd/of the hub's own Argo CD"},
	"the cluster annotation was changed":                             {"TestEnd/on two, one of which goes", "TestEnd/no cluster named"},
	"sent, and the agent has not seen the work yet":                  {"TestEnd/unseen"},
	"Argo CD's pre-delete or post-delete finalizers too":             {"TestEnd/sent"},
	"Argo CD's pre-delete or post-delete finalizers alone":           {"TestEnd/with one of others and Argo CD's for hooks"},
	"a finalizer of a foreign owner as well":                         {"TestEnd/with one of others and Argo CD's for hooks"},
	"the cluster's namespace on the hub is going":                    {"TestEnd/going", "TestEnd/never sent"},
	"deleted, cluster unreachable":                                   {"TestEnd/away"},
	"the Placement drops an unavailable cluster":                     {"TestOutage/away", "TestOutage/back, and not looked at yet"},
	"held in an outage | the cluster is available again, and chosen": {
		"TestOutage/back, and chosen", "TestOutage/back, chosen, and remembered",
		"TestOutage/gone, within the time for the return", "TestOutage/recreated, and applied"},
	"held in an outage | the cluster is available again, and not": {"TestOutage/back, and not chosen"},
	"held in an outage | `delete-on-outage":                       {"TestOutage/away, and asked to go", "TestOutage/away, and by no Placement"},
	"let go after an outage":                                      {"TestOutage/gone, and not recreated"},
	"deleted, waiting | `force-delete": {"TestEnd/forced", "TestEnd/forced, not gone", "TestEnd/no such cluster any more",
		"TestEnd/not accepted any more", "TestEnd/a cluster that goes"},
	"deleted, waiting, paused":                                      {"TestEnd/paused"},
	"deleted, and `release` is neither":                             {"TestEnd/an odd word on release"},
	"deleted while Towline is down":                                 {"TestOrphan/ended", "TestOrphan/lost"},
	"gone from the hub, and the work came from an older controller": {"TestOlder/gone, and lost"},
	"an older controller's work holds": {"TestOlder/deleted, and it would take all", "TestOlder/deleted, and that is not applied",
		"TestOlder/released", "TestOlder/replaced", "TestOlder/replaced, and that is applied"},
	"gone from the hub without a cascade":             {"TestOrphan/ended, and foreign finalizers hold the Application"},
	"gone from the hub, and the cluster cannot apply": {"TestOrphan/ended, and the cluster refuses"},
	"deleted, made again under the same name":         {"TestMove/an earlier Application of the same name, on the same cluster"},
	"the same, and the old work was in deletion":      {"TestDeliver/an earlier work is removed first"},

	"the cluster is not heard of":      {"- the status controller's"},
	"built anew under the same name":   {"- the work agent's"},
	"`hubAcceptsClient` withdrawn":     {"TestDeliver/a cluster not accepted"},
	"ManagedCluster deleted":           {"TestDeliver/a cluster that goes", "TestDeliver/no such cluster"},
	"ManagedCluster imported again":    {"TestDeliver/a new Application"},
	"renamed: joined under a new name": {"TestMove/sent, not applied"},
	"the hub is a managed cluster itself": {"TestDeliver/the hub, in the namespace of the hub's Application",
		"TestDeliver/the hub, with an Application of its own"},

	"the Application | the same Application and its work": {"TestDeliver/an Application with its work"},
	"the Application | the Application with a new UID":    {"TestMove/an earlier Application of the same name, on the same cluster"},
	"a newer Application":                                 {"- the work agent's"},
	"the Application | a work, and no Application":        {"TestOrphan/lost"},
	"no Application, because of a deletion since":         {"TestDeliver/a new Application"},

	"to an unreachable cluster":                    {"TestRelay/on its way"},
	"to a cluster that cannot apply the operation": {"TestARefusedRequest/an operation, by a failing cluster"},
	"to any | withdrawn":                           {"TestRelay/on its way, withdrawn"},
	"to any | a new namespace on the cluster": {
		"TestRelay/a new namespace, and on its way", "TestRelay/a new namespace, on its way, and not permitted",
	},
	"to any, or running | moved": {"TestRelay/sent to another cluster", "TestRelay/sent to another cluster, old first"},
	"to any, or running | the work is released or deleted": {
		"TestRelay/sent by a work that is released", "TestRelay/sent by a work that loses its right", "TestRelay/sent by a work that goes"},
	"running | the Application changes":         {"TestRelay/over, and forgotten"},
	"running | a second operation is requested": {"TestRelay/taken, not shown"},
	"running | terminated on the hub":           {"TestRelay/to be stopped"},
	"running | deleted, or moved":               {"TestEnd/an operation runs", "TestMove/healthy, and an operation runs on the old"},
}

// TestLifecycleRows: every row of the document has a case in a table or another deciding component, and the document
// still has every row.
func TestLifecycleRows(t *testing.T) {
	text, err := os.ReadFile("../../docs/lifecycle.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, row := range decisionRows(string(text)) {
		key := ""
		for known := range documented {
			if begins(row, known) && len(known) > len(key) {
				key = known
			}
		}
		if key == "" {
			t.Errorf("no case of a table is named for the row %q", row)
		}
		found[key] = true
	}
	for key, cases := range documented {
		if !found[key] {
			t.Errorf("the document has no row %q any more", key)
		}
		for _, name := range cases {
			if !strings.HasPrefix(name, "- ") && !cased[strings.ReplaceAll(name, " ", "_")] && len(cased) > 100 {
				t.Errorf("row %q: there is no case %q", key, name)
			}
		}
	}
}

// begins reports whether the first two cells of a row begin with the two parts of a key.
func begins(row [2]string, key string) bool {
	first, second, both := strings.Cut(key, " | ")
	if !both {
		return strings.HasPrefix(row[0], first)
	}
	return row[0] == first && strings.HasPrefix(row[1], second)
}

// decisionRows returns the first two cells of each row in the tables about decisions.
func decisionRows(text string) (rows [][2]string) {
	for _, section := range strings.Split(text, "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		if title == "Roll-outs and promotions" || title == "What is not covered" {
			continue
		}
		head := true
		for line := range strings.SplitSeq(body, "\n") {
			cells := strings.Split(line, "|")
			switch {
			case !strings.HasPrefix(line, "|"):
				head = true
			case strings.HasPrefix(line, "|--"):
			case head:
				head = false
			default:
				rows = append(rows, [2]string{strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])})
			}
		}
	}
	return rows
}

// TestEveryGateHolds: each gate blocks in a case of the tables. The tables run before this test.
func TestEveryGateHolds(t *testing.T) {
	if len(asked) < len(Gates())/2 {
		t.Skip("not all tables were run")
	}
	for _, g := range Gates() {
		if !held[g.Name] {
			t.Errorf("no table has a case in which %q holds", g.Name)
		}
	}
}
