package browser

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/towline-io/towline/pkg/ui"
)

// evil is a message of a hostile cluster.
var evil = `</bdi><script>document.title="owned"</script><img src=x onerror='document.title="owned"'>` + "\u202e\u2066" + strings.Repeat("A", 1<<20)

// pages are the addresses of all pages.
var pages = []string{"/", "/sets/argocd/guestbook", "/applications/argocd/c3-guestbook", "/clusters", "/clusters/c3", "/attention"}

// start returns a browser, and the address of a guarded page of a hub, with its one-time token.
func start(t *testing.T, h *hub) (context.Context, string, string) {
	t.Helper()
	var guard *ui.Local
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { guard.Guard(ui.Handler(h)).ServeHTTP(w, r) }))
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	guard = ui.NewLocal("127.0.0.1:" + port)
	server.Start()
	h.drop = server.CloseClientConnections
	t.Cleanup(h.drop)
	return browser(t), "http://127.0.0.1:" + port, guard.Token()
}

// browser starts chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Fatal("chromium is missing: apt-get install --no-install-recommends chromium")
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), flags...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 8*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// action is a step in the browser.
type action = chromedp.Action[chromedp.Void]

// into stores the result of an action.
func into[T any](a chromedp.Action[T], to *T) action {
	return func(ctx context.Context, tab *chromedp.Target) (none chromedp.Void, err error) {
		*to, err = a(ctx, tab)
		return none, err
	}
}

// evaluate stores the result of a script.
func evaluate[T any](script string, to *T, options ...chromedp.EvaluateOption) action {
	return into(chromedp.Evaluate[T](script, options...), to)
}

func run(t *testing.T, ctx context.Context, actions ...action) { //nolint:revive // as chromedp has it
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// TestBrowser uses the page as a person does.
func TestBrowser(t *testing.T) {
	h := newHub(app("c1", "Healthy", ""), app("c2", "Healthy", ""), app("c3", "Degraded", evil))
	ctx, base, token := start(t, h)

	var location string
	run(t, ctx, chromedp.Navigate(base+"/?token="+token), chromedp.WaitVisible(chromedp.CSS("#live.on")), into(chromedp.Location(), &location))
	if location != base+"/" {
		t.Errorf("the address still has the token: %s", location)
	}

	t.Run("a cell turns red", func(t *testing.T) {
		h.set(0, app("c1", "Degraded", "no pods"))
		run(t, ctx, chromedp.WaitVisible(chromedp.CSS("#c-c1 td.blocked")))
	})
	t.Run("a page that is not current says so", func(t *testing.T) {
		h.change(func() {
			h.outdated = []ui.Outdated{{What: "Applications", Since: time.Unix(1_700_000_000, 0), Why: "connection refused"}}
		})
		var notice, live string
		run(t, ctx, chromedp.WaitVisible(chromedp.CSS("#outdated")), chromedp.WaitNotPresent(chromedp.CSS("#live.on")),
			into(chromedp.Text(chromedp.CSS("#outdated")), &notice), into(chromedp.Text(chromedp.CSS("#live")), &live))
		if !strings.Contains(notice, "are from 2023-11-14 22:13:20Z") || live != "not current" {
			t.Errorf("says %q, %q", live, notice)
		}
		h.change(func() { h.outdated = nil })
		run(t, ctx, chromedp.WaitVisible(chromedp.CSS("#live.on")), chromedp.WaitNotPresent(chromedp.CSS("#outdated")))
	})
	t.Run("a page whose server is away stays, and comes back", func(t *testing.T) {
		h.down.Store(true)
		h.drop()
		var live string
		run(t, ctx, chromedp.WaitNotPresent(chromedp.CSS("#live.on")), into(chromedp.Text(chromedp.CSS("#live")), &live),
			chromedp.WaitVisible(chromedp.CSS("#c-c1 td.blocked")))
		if !strings.HasPrefix(live, "not live since 20") {
			t.Errorf("says %q", live)
		}
		h.down.Store(false)
		h.set(1, app("c2", "Degraded", "no pods"))
		run(t, ctx, chromedp.WaitVisible(chromedp.CSS("#c-c2 td.blocked")), chromedp.WaitVisible(chromedp.CSS("#live.on")))
		h.set(1, app("c2", "Healthy", ""))
	})
	t.Run("a page that cannot be loaded anew is not live, and comes when it can", func(t *testing.T) {
		h.down.Store(true)
		h.change(func() { h.apps = append(h.apps, app("c9", "Healthy", "")) }) // a new line: the stream stays open, and requests the page
		run(t, ctx, chromedp.WaitNotPresent(chromedp.CSS("#live.on")))
		h.down.Store(false)
		run(t, ctx, chromedp.WaitVisible(chromedp.CSS("#c-c9")), chromedp.WaitVisible(chromedp.CSS("#live.on")))
		h.change(func() { h.apps = h.apps[:len(h.apps)-1] })
		run(t, ctx, chromedp.WaitNotPresent(chromedp.CSS("#c-c9")))
	})
	t.Run("a page that could not be had comes by itself", func(t *testing.T) {
		h.down.Store(true)
		run(t, ctx, chromedp.Navigate(base+"/clusters"), chromedp.WaitVisible(chromedp.CSS(".message")))
		h.down.Store(false)
		run(t, ctx, chromedp.WaitVisible(chromedp.CSS("#c-c1")), chromedp.Navigate(base+"/"), chromedp.WaitVisible(chromedp.CSS("#live.on")))
	})
	t.Run("scripts do not see the cookie", func(t *testing.T) {
		var cookies string
		run(t, ctx, evaluate("document.cookie", &cookies))
		if cookies != "" {
			t.Error(cookies)
		}
	})
	t.Run("keys alone", func(t *testing.T) {
		var at, below, title string
		run(t, ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector("thead a").focus()`),
			chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown),
			evaluate(`document.activeElement.closest("tr").id`, &at),
			chromedp.KeyEvent(kb.ArrowLeft), evaluate(`document.activeElement.textContent`, &below),
			chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#cluster")), into(chromedp.Title(), &title))
		if at != "c-c2" || below != "c2" || !strings.HasPrefix(title, "c2 ") {
			t.Errorf("at %q, %q, title %q", at, below, title)
		}
	})
	t.Run("hostile text stays text", func(t *testing.T) {
		for _, page := range []string{"/", "/sets/argocd/guestbook", "/applications/argocd/c3-guestbook", "/clusters/c3", "/attention"} {
			var title, shown string
			var scripts, images int
			run(t, ctx, chromedp.Navigate(base+page), chromedp.WaitVisible(chromedp.CSS("main")), into(chromedp.Title(), &title),
				evaluate("document.scripts.length", &scripts), evaluate("document.images.length", &images),
				evaluate("document.documentElement.outerHTML", &shown))
			if title == "owned" || scripts != 1 || images != 0 || strings.ContainsAny(shown, "\u202e\u2066") || len(shown) > 100_000 {
				t.Errorf("%s: title %q, %d scripts, %d images, %d bytes", page, title, scripts, images, len(shown))
			}
		}
	})
	t.Run("contrast and width", func(t *testing.T) {
		for _, scheme := range []string{"light", "dark"} {
			for _, page := range pages {
				var faint []string
				var wide bool
				run(t, ctx, media(&emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme}),
					chromedp.EmulateViewport(360, 800), chromedp.Navigate(base+page), chromedp.WaitVisible(chromedp.CSS("main")),
					evaluate(contrast, &faint), evaluate("document.documentElement.scrollWidth > innerWidth", &wide))
				if len(faint) > 0 || wide {
					t.Errorf("%s in the %s: wider than the screen: %v; too faint: %v", page, scheme, wide, faint)
				}
			}
		}
	})
	t.Run("structure", func(t *testing.T) {
		for _, page := range pages {
			var wrong []string
			run(t, ctx, chromedp.Navigate(base+page), chromedp.WaitVisible(chromedp.CSS("main")), evaluate(structure, &wrong))
			if len(wrong) > 0 {
				t.Errorf("%s: %v", page, wrong)
			}
		}
	})
}

// contrast lists texts with a contrast of less than 4.5 to 1 (WCAG 2, success criterion 1.4.3).
const contrast = `(() => {
	const parts = (c) => c.match(/[\d.]+/g).map(Number);
	const linear = (v) => v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
	const light = (c) => { const [r, g, b] = parts(c).map(linear); return .2126 * r + .7152 * g + .0722 * b; };
	const back = (e) => {
		for (; e; e = e.parentElement) {
			const c = getComputedStyle(e).backgroundColor, p = parts(c);
			if (p.length < 4 || p[3] > 0) return c;
		}
		return "rgb(255,255,255)";
	};
	const out = [];
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length) continue;
		const a = light(getComputedStyle(e).color), b = light(back(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) out.push(e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 30) + " " + ratio.toFixed(2));
	}
	return out;
})()`

// structure lists defects for a screen reader.
const structure = `(() => {
	const out = [], all = (q) => [...document.querySelectorAll(q)];
	if (!document.documentElement.lang) out.push("no language");
	for (const q of ["main", "h1", "header", "nav[aria-label]"]) if (all(q).length !== 1) out.push(all(q).length + " " + q);
	for (const t of all("th")) if (!t.scope) out.push("a header without a scope: " + t.textContent);
	for (const a of all("a,button")) if (!(a.getAttribute("aria-label") || a.textContent).trim()) out.push("a link without a name: " + a.outerHTML);
	for (const i of all("input:not([type=hidden]),select")) if (!i.labels.length) out.push("a field without a label: " + i.name);
	let last = 1;
	for (const h of all("h1,h2,h3")) { const n = Number(h.tagName[1]); if (n > last + 1) out.push("a heading too deep: " + h.textContent); last = n; }
	const ids = all("[id]").map((e) => e.id);
	for (const id of new Set(ids)) if (ids.filter((i) => i === id).length > 1) out.push("an id twice: " + id);
	for (const e of all("[aria-labelledby]")) {
		if (!document.getElementById(e.getAttribute("aria-labelledby"))) out.push("no label " + e.outerHTML.slice(0, 80));
	}
	return out;
})()`
