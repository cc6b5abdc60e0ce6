package browser

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// axe returns the program of axe-core.
func axe(t *testing.T) string {
	t.Helper()
	return packages(t)("axe-core/axe.min.js")
}

// violation is a rule of axe-core that a page breaks, and the places.
type violation struct {
	ID    string   `json:"id"`
	Help  string   `json:"help"`
	Nodes []string `json:"nodes"`
}

// violations is a script that returns the broken rules of a page, and the number of kept rules. Without a kept rule,
// axe-core has checked nothing.
const violations = `axe.run(document).then((r) => JSON.stringify({
	kept: r.passes.length,
	broken: r.violations.map((v) => ({id: v.id, help: v.help, nodes: v.nodes.map((n) => n.html.slice(0, 200) + " " + n.failureSummary)})),
}))`

// media emulates features of the screen.
func media(features ...*emulation.MediaFeature) action {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	})
}

// TestAccessible: axe-core finds no violation on any page, light or dark, on a wide screen or a narrow one.
func TestAccessible(t *testing.T) {
	program := axe(t)
	ctx, base, token := start(t, newHub(app("c1", "Healthy", ""), app("c2", "Progressing", ""), app("c3", "Degraded", "no pods")))
	run(t, ctx, chromedp.Navigate(base+"/?token="+token), chromedp.WaitVisible(chromedp.CSS("#live.on")))
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			for _, page := range pages {
				var said string
				run(t, ctx, media(&emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme}),
					chromedp.EmulateViewport(width, 800), chromedp.Navigate(base+page), chromedp.WaitVisible(chromedp.CSS("main")),
					chromedp.Evaluate[chromedp.Void](program+"; 0"), evaluate(violations, &said, chromedp.EvalAwaitPromise))
				found := struct {
					Kept   int         `json:"kept"`
					Broken []violation `json:"broken"`
				}{}
				if err := json.Unmarshal([]byte(said), &found); err != nil {
					t.Fatal(err)
				}
				if found.Kept < 10 {
					t.Errorf("%s: axe-core looked at %d rules", page, found.Kept)
				}
				for _, v := range found.Broken {
					t.Errorf("%s, %s, %d wide: %s (%s): %q", page, scheme, width, v.ID, v.Help, v.Nodes)
				}
			}
		}
	}
}
