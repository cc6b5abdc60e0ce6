package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/towline-io/towline/pkg/feedback"
)

// FuzzParse checks that the parser ends for any answer. The accepted content must be bounded, sorted, printable, and
// about the wanted Applications.
func FuzzParse(f *testing.F) {
	missing := `,"_conditionSyncError":"x","_missingResources":"[{\"kind\":\"Service\",\"name\":\"a\"}]"`
	f.Add(answerOf([]string{fmt.Sprintf(guestbookItem, missing), neighbourItem}, []string{fmt.Sprintf(service, "")}))
	f.Add([]byte(`{"errors":[{"message":"x"}],"data":null}`))
	f.Add([]byte(`{"data":{"searchResult":[{"count":1,"items":[null],"related":[{"kind":"a","items":[7]}]}]}}`))
	f.Add([]byte(`{"data":{"searchResult":[null]}}`))
	f.Add([]byte(strings.Repeat(`[`, 20_000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		answer, err := parse(data, []Key{guestbook, neighbour})
		if err != nil {
			if answer != nil || err.fit("").Error() == "" || !slices.Contains(Reasons, err.Reason) {
				t.Errorf("a failure with an answer or without a reason: %v", err)
			}
			return
		}
		for key, app := range answer.Applications {
			if key != guestbook && key != neighbour {
				t.Errorf("nobody asked for %v", key)
			}
			check(t, app)
		}
	})
}

func check(t *testing.T, app *Application) {
	t.Helper()
	if len(app.Resources) > maxResources || !slices.IsSortedFunc(app.Resources, byName) {
		t.Errorf("%d resources, or not sorted", len(app.Resources))
	}
	for _, r := range app.Resources {
		if !validName(r.Name) || !kindFormat.MatchString(r.Kind) || !listed(r.Kind) || len(r.Group) > 253 || len(r.Namespace) > 63 {
			t.Errorf("got %+v", r)
		}
	}
	for _, c := range app.Conditions {
		if c.Message == "" || len(c.Message) > feedback.MaxMessage || !utf8.ValidString(c.Message) || strings.Contains(c.Message, "\x1b") {
			t.Errorf("got %q", c.Message)
		}
	}
}
