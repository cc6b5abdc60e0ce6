package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/why"
)

// extension is the path of the extension for Argo CD's UI.
const extension = "../../deploy/argocd-ui-extension/extension-towline.js"

// stub is the part of Argo CD's UI for extensions (ui/src/app/shared/services/extensions-service.ts and index.tsx of
// Argo CD 3.5): the registration, and React as a global.
const stub = `window.registered = {};
window.extensionsAPI = {
	registerResourceExtension: (component, group, kind, title) => { registered.tab = {component, group, kind, title}; },
	registerStatusPanelExtension: (component, title, id, flyout) => { registered.panel = {component, title, id, flyout}; },
};
window.draw = (application) => {
	const e = React.createElement;
	window.opened = 0;
	render(e("div", null,
		e("header", {id: "panel"}, e(registered.panel.component, {application, openFlyout: () => { opened++; }})),
		e("main", {id: "tab"}, e(registered.tab.component, {application, resource: application, tree: {}}))));
};`

// reacts returns scripts with the versions of React from versions of Argo CD. Each script sets the globals React and
// render.
func reacts(file func(string) string) map[string]string {
	module := func(name, path string) string {
		return fmt.Sprintf("modules[%q] = {exports: {}}; ((module, exports) => {%s\n})(modules[%q], modules[%q].exports);\n", name, file(path), name, name)
	}
	return map[string]string{
		"React 16, as Argo CD 2.14 has it": file("react-16/umd/react.production.min.js") + file("react-dom-16/umd/react-dom.production.min.js") +
			`; window.render = (what) => ReactDOM.render(what, document.getElementById("root"));`,
		"React 19, as Argo CD 3.5 has it": `const modules = {}, require = (name) => modules[name].exports;` +
			module("react", "react/cjs/react.production.js") + module("scheduler", "scheduler/cjs/scheduler.production.js") +
			module("react-dom", "react-dom/cjs/react-dom.production.js") + module("react-dom/client", "react-dom/cjs/react-dom-client.production.js") +
			`window.React = require("react"); const root = require("react-dom/client").createRoot(document.getElementById("root"));
			window.render = (what) => require("react-dom").flushSync(() => root.render(what));`,
	}
}

// ways are Applications with a problem at each link that the Application itself shows.
var ways = map[string]func(*argocd.Application){
	"all is well":               func(*argocd.Application) {},
	"forbidden":                 said(apis.ConditionPropagationForbiddenError),
	"cannot be sent":            said(apis.ConditionPropagationError),
	"paused":                    said(apis.ConditionPausedWarning),
	"moves":                     said(apis.ConditionMoveWarning),
	"is being released":         said(apis.ConditionReleaseWarning),
	"is being deleted":          said(apis.ConditionDeletionWarning),
	"a dependency":              said(apis.ConditionDependencyError),
	"refused there":             said(apis.ConditionWorkApplyError),
	"lost there":                said(apis.ConditionWorkAvailableWarning),
	"not compared":              said(apis.ConditionNotCompared),
	"a refresh that was late":   said(apis.ConditionRefreshWarning),
	"a comparison that failed":  said("ComparisonError"),
	"a sync that failed for it": said(apis.ConditionOperationError),
	"away":                      said(apis.ConditionClusterUnreachableWarning),
	"released": func(a *argocd.Application) {
		said(apis.ConditionReleaseWarning)(a)
		a.Status.Conditions[0].Message = "released: the workload stays on its cluster"
	},
	"a Placement that is unclear": func(a *argocd.Application) {
		delete(a.Annotations, apis.AnnotationCluster)
		said(apis.ConditionPlacementWarning)(a)
	},
	"a Placement of before":     said(apis.ConditionPlacementWarning),
	"not compared yet":          func(a *argocd.Application) { a.Status.Sync = nil },
	"changed, and not compared": func(a *argocd.Application) { a.Status.Sync = &argocd.Sync{Status: "Unknown"} },
	"changed, and not compared, of a set": func(a *argocd.Application) {
		a.Status.Sync = &argocd.Sync{Status: "OutOfSync"}
		a.Annotations[apis.AnnotationRefresh] = apis.RefreshSpecChanged
	},
	"changed, and a comparison that failed": func(a *argocd.Application) {
		a.Status.Sync = &argocd.Sync{Status: "Unknown"}
		said("ComparisonError")(a)
	},
	"out of sync": func(a *argocd.Application) { a.Status.Sync.Status = "OutOfSync" },
	"a sync that failed": func(a *argocd.Application) {
		a.Status.OperationState = &argocd.OperationState{Phase: "Failed", Message: "no"}
	},
	"a sync":                   func(a *argocd.Application) { a.Status.OperationState = &argocd.OperationState{Phase: "Running"} },
	"resources are under way":  func(a *argocd.Application) { a.Status.Health.Status = "Progressing" },
	"resources without health": func(a *argocd.Application) { a.Status.Health.Status = "" },
	"resources do not work":    func(a *argocd.Application) { a.Status.Health = argocd.Health{Status: "Degraded", Message: "no pods"} },
	"a resource that says why": func(a *argocd.Application) {
		a.Status.Health.Status = "Degraded"
		a.Status.Resources = []argocd.ResourceStatus{
			{Kind: "Service", Name: "ui", Health: &argocd.Health{Status: "Healthy"}},
			{Kind: "Deployment", Name: "ui", Health: &argocd.Health{Status: "Degraded", Message: "no image"}},
		}
	},
	"resources that Towline names": func(a *argocd.Application) {
		a.Status.Health.Status = "Degraded"
		said(apis.ConditionResourcesDegraded)(a)
	},
}

// said sets a condition on an Application.
func said(conditionType string) func(*argocd.Application) {
	return func(a *argocd.Application) {
		at := metav1.Unix(1_767_323_045, 0)
		a.Status.Conditions = []argocd.Condition{{Type: conditionType, Message: "what is wrong", LastTransitionTime: &at}}
	}
}

// link is a link of the diagnosis, as shown.
type link struct{ State, Name, Message string }

// shownDiagnosis is a script that returns the links of the tab.
const shownDiagnosis = `[...document.querySelectorAll("#tab .towline-diagnosis li")].map((li) => ({
	State: li.className.replace("towline-", ""), Name: li.querySelector("strong").textContent,
	Message: li.querySelector("bdi") ? li.querySelector("bdi").textContent : "",
}))`

// TestExtension: the extension of Argo CD's UI shows the same diagnosis for an Application as pkg/why, and text from a
// cluster stays text. The test uses a stub of the UI, and the real React.
func TestExtension(t *testing.T) {
	file := packages(t)
	script, err := os.ReadFile(extension)
	if err != nil {
		t.Fatal(err)
	}
	ctx := browser(t)
	for name, react := range reacts(file) {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/page.js":
					_, _ = fmt.Fprint(w, react, "\n", stub)
				case "/extensions.js": // as argocd-server serves the script
					_, _ = fmt.Fprintf(w, "try {\n%s\n} catch (e) { document.title = e; }", script)
				default:
					_, _ = fmt.Fprint(w, `<!doctype html><html lang="en"><title>Argo CD</title><div id="root"></div>`+
						`<script src="/page.js"></script><script src="/extensions.js"></script>`)
				}
			}))
			t.Cleanup(server.Close)
			var registered string
			run(t, ctx, chromedp.Navigate(server.URL), chromedp.WaitReady(chromedp.CSS("#root")), evaluate(
				`(({tab, panel}) => [tab.group, tab.kind, tab.title, panel.title, panel.flyout === tab.component].join(" "))(registered)`, &registered))
			if registered != "argoproj.io Application Pull Pull true" {
				t.Fatalf("registered: %s", registered)
			}
			draw := func(t *testing.T, a *argocd.Application, then ...action) {
				t.Helper()
				data, err := json.Marshal(a)
				if err != nil {
					t.Fatal(err)
				}
				run(t, ctx, append([]action{chromedp.Evaluate[chromedp.Void](fmt.Sprintf("draw(%s)", data))}, then...)...)
			}
			all := maps.Clone(ways)
			for _, rule := range apis.ConditionRules {
				all["condition "+rule.Type] = said(rule.Type)
			}
			for title, edit := range all {
				a := app("c1", "Healthy", "")
				edit(a)
				var got []link
				var panel string
				draw(t, a, evaluate(shownDiagnosis, &got), evaluate(`document.getElementById("panel").textContent`, &panel))
				want := why.Of(&why.Facts{App: a, WorkUnread: true})
				compare(t, title, want, got)
				if b := want.Broken(); b != nil && !strings.Contains(panel, "at: "+b.Name) || b == nil && !strings.Contains(panel, "✓") {
					t.Errorf("%s: the panel has %q", title, panel)
				}
			}
			t.Run("what is not pulled", func(t *testing.T) {
				a := app("c1", "Healthy", "")
				a.Labels = nil
				var panel, tab string
				draw(t, a, evaluate(`document.getElementById("panel").textContent`, &panel),
					evaluate(`document.getElementById("tab").textContent`, &tab))
				if panel != "" || !strings.Contains(tab, "does not deliver") {
					t.Errorf("%q, %q", panel, tab)
				}
			})
			t.Run("hostile text stays text", func(t *testing.T) {
				a := app(evil, "Degraded", evil)
				a.Status.Conditions = []argocd.Condition{{Type: apis.ConditionWorkApplyError, Message: evil}}
				var title, html string
				var opened, foreign int
				draw(t, a, chromedp.Click(chromedp.CSS("#panel a")), evaluate("opened", &opened), into(chromedp.Title(), &title),
					evaluate(`document.querySelectorAll("#root script, #root img").length`, &foreign),
					evaluate(`document.getElementById("root").innerHTML`, &html))
				if title != "Argo CD" || foreign != 0 || strings.ContainsAny(html, "\u202e\u2066") || len(html) > 20_000 || opened != 1 {
					t.Errorf("title %q, %d foreign elements, %d bytes, opened %d times", title, foreign, len(html), opened)
				}
			})
		})
	}
}

// compare reports differences between the shown diagnosis and the diagnosis from pkg/why.
func compare(t *testing.T, title string, want *why.Diagnosis, got []link) {
	t.Helper()
	if len(got) != len(want.Links) {
		t.Errorf("%s: %d links, want %d: %v", title, len(got), len(want.Links), got)
		return
	}
	for i, w := range want.Links {
		if g := got[i]; g.Name != w.Name || g.State != string(w.State) {
			t.Errorf("%s: link %d is %s, %s, want %s, %s", title, i, g.Name, g.State, w.Name, w.State)
		} else if (w.State == why.Blocked || w.State == why.Waiting) && g.Message != w.Message {
			t.Errorf("%s: %s says %q, want %q", title, g.Name, g.Message, w.Message)
		}
	}
}
