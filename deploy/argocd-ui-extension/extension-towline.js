// Shows the way of an Application to its managed cluster in the hub's Argo CD: a panel in the status bar, and a tab beside the
// Application's manifest. The extension reads only the Application that Argo CD has given to the page, and sends no requests. All
// text is the text of React elements, so text from a cluster never becomes HTML. React comes from Argo CD. docs/argocd-ui.md
// explains the installation.
(() => {
  "use strict";
  const group = "apps.open-cluster-management.io/";
  const keys = {
    pull: group + "pull-to-ocm-managed-cluster", cluster: group + "ocm-managed-cluster", namespace: group + "ocm-managed-cluster-app-namespace",
  };
  const ok = "ok", waiting = "waiting", blocked = "blocked", unknown = "unknown", later = "later";
  const glyphs = { ok: "✓", waiting: "…", blocked: "✗", unknown: "?", later: "·" };
  const words = { ok: "well", waiting: "under way", blocked: "stopped", unknown: "not visible on the hub's Application", later: "not reached" };
  // Colours with enough contrast on the light page and on the dark page.
  const colours = { ok: "#18be94", waiting: "#0dadea", blocked: "#e96d76", unknown: "#8fa4b1", later: "#8fa4b1" };

  const labels = (app) => (app.metadata && app.metadata.labels) || {};
  const annotations = (app) => (app.metadata && app.metadata.annotations) || {};
  const status = (app) => app.status || {};
  const cluster = (app) => annotations(app)[keys.cluster] || "";
  // The values that Go's strconv.ParseBool parses as true.
  const pulled = (app) => ["1", "t", "T", "true", "TRUE", "True"].includes(labels(app)[keys.pull]);
  // joined returns known and more. If known contains more, joined returns only
  // known.
  const joined = (known, more) => (!more || known.includes(more) ? known : known + ": " + more);

  // The conditions of Towline on an Application, by type: the step of the way where the Application stops, and the state of the
  // step. pkg/why has the complete rules, and a test compares the extension with pkg/why.
  const told = {
    PropagationError: ["target", blocked], PropagationForbiddenError: ["rights", blocked], PausedWarning: ["target", blocked],
    ReleaseWarning: ["target", waiting], MoveWarning: ["target", waiting], DeletionWarning: ["target", waiting],
    EditedOnClusterWarning: ["target", waiting],
    DependencyError: ["dependencies", blocked], PlacementWarning: ["Application", blocked],
  };
  // Condition types of Towline with the suffix Error. All other types with this
  // suffix come from the cluster's Argo CD.
  const ours = ["PropagationError", "PropagationForbiddenError", "DependencyError", "ManifestWorkApplyError"];

  // diagnosis returns the steps of the way of an Application. The states of steps after the first broken step are unknown.
  const diagnosis = (app) => {
    const links = [], conditions = status(app).conditions || [];
    const find = (type) => conditions.find((c) => c.type === type);
    const add = (name, state, message, condition) => {
      const broken = links.some((l) => l.state === blocked || l.state === waiting);
      links.push(broken ? { name, state: later } : { name, state, message, since: condition && condition.lastTransitionTime });
    };
    const said = (name) => conditions.find((c) => told[c.type] && told[c.type][0] === name && (c.type !== "PlacementWarning" || !cluster(app)));
    const step = (name, state, message) => {
      const c = said(name);
      if (c) add(name, c.type === "ReleaseWarning" && released(c) ? blocked : told[c.type][1], c.message, c); else add(name, state, message);
    };
    step("Application", ok, "the Application names " + cluster(app));
    step("rights", unknown, "the Application has no condition about this step");
    step("target", unknown, "the Application has no condition about this step");
    step("dependencies", ok, "no dependency has an error");
    add("ManifestWork", unknown, "");

    const agent = ["ClusterUnreachableWarning", "ManifestWorkApplyError", "ManifestWorkAvailableWarning"].map(find).find(Boolean);
    const last = agent && agent.type === "ClusterUnreachableWarning" ? "; the shown state of the Application is the last known state" : "";
    add("work agent", agent ? blocked : unknown, agent && agent.message + last, agent);
    argoCD(app, conditions, add);
    resources(app, conditions, add);
    return links;
  };

  // A finished release does not wait.
  const released = (c) => (c.message || "").startsWith("released: ");

  // The cluster has not compared a change of the Application.
  const changed = (app) => annotations(app)["argocd.argoproj.io/refresh"] === "spec-changed";

  const argoCD = (app, conditions, add) => {
    const name = "cluster's Argo CD", s = status(app), op = s.operationState || {}, sync = s.sync || {};
    const wrong = conditions.find((c) => c.type === "NotComparedWarning") ||
      conditions.find((c) => c.type.endsWith("Error") && !ours.includes(c.type));
    if (wrong) add(name, blocked, wrong.message, wrong);
    else if (op.phase === "Failed" || op.phase === "Error") add(name, blocked, joined("the last sync failed", op.message));
    else if (op.phase === "Running" || op.phase === "Terminating") add(name, waiting, joined("a sync is " + op.phase.toLowerCase(), op.message));
    else if (!sync.status) add(name, waiting, "has not compared the Application yet");
    else if (sync.status === "Unknown" || (sync.status === "OutOfSync" && changed(app)))
      add(name, waiting, "has not compared the current Application");
    else if (sync.status !== "Synced") add(name, blocked, "the cluster differs from Git (" + sync.status + ")");
    else add(name, ok, joined("Synced", sync.revision));
  };

  const resources = (app, conditions, add) => {
    const health = status(app).health || {};
    if (health.status === "Healthy") return add("resources", ok, "Healthy");
    if (!health.status) return add("resources", waiting, "their health is not known yet");
    if (health.status === "Progressing") return add("resources", waiting, "Progressing");
    const why = conditions.find((c) => c.type === "ResourcesDegradedWarning");
    let message = joined(health.status, health.message);
    if (why) return add("resources", blocked, joined(message, why.message), why);
    const bad = (status(app).resources || []).find((r) => r.health && r.health.status !== "Healthy" && !message.includes(r.health.message || ""));
    if (bad) message += "; " + bad.kind + " " + bad.name + ": " + bad.health.message;
    return add("resources", blocked, message);
  };

  // broken returns the first step that is stopped or under way, or undefined.
  const broken = (links) => links.find((l) => l.state === blocked || l.state === waiting);

  // heard returns the time of the last report of the cluster, from the times in the status of the Application.
  const heard = (app) => {
    const s = status(app), op = s.operationState || {};
    const times = [s.reconciledAt, op.startedAt, op.finishedAt].map(Date.parse).filter((t) => !Number.isNaN(t));
    return times.length ? new Date(Math.max(...times)).toISOString().replace("T", " ").replace(/\.\d+Z$/, "Z") : "not known";
  };

  // text shortens a text from a cluster, and removes control characters that would change the direction of the text beside.
  const most = 2048;
  const text = (s) => {
    const clean = String(s || "").replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, "");
    return clean.length > most ? clean.slice(0, most) + " …" : clean;
  };

  const e = (...args) => window.React.createElement(...args);
  const sign = (state) => e("span", { "aria-hidden": true, style: { color: colours[state], fontWeight: "bold", marginRight: "0.4em" } }, glyphs[state]);

  // panel returns the item for the status bar, or null for an Application that
  // is not pulled.
  const panel = ({ application, openFlyout }) => {
    if (!application || !pulled(application)) return null;
    const at = broken(diagnosis(application)), state = at ? at.state : ok;
    return e("div", { className: "application-status-panel__item towline-panel" },
      e("div", { style: { lineHeight: "19.5px", marginBottom: "0.3em" } }, e("label", null, "PULL")),
      e("div", { className: "application-status-panel__item-value" }, sign(state),
        e("a", { href: "#", onClick: (event) => { event.preventDefault(); openFlyout(); } }, e("bdi", null, text(cluster(application)) || "no cluster"))),
      e("div", { className: "application-status-panel__item-name" }, at ? words[state] + " at: " + at.name : words[state]),
      e("div", { className: "application-status-panel__item-name" }, "last heard " + heard(application)));
  };

  const row = (name, value) => e("div", { key: name, className: "row white-box__details-row" },
    e("div", { className: "columns small-3" }, name), e("div", { className: "columns small-9" }, e("bdi", null, value)));

  // tab returns the page with all steps of the way.
  const tab = ({ application, resource }) => {
    const app = application && application.status ? application : resource;
    if (!app || !pulled(app)) return e("p", { className: "towline-tab" }, "Towline does not deliver this Application: the Application has no label " + keys.pull + "=true.");
    const where = annotations(app)[keys.namespace];
    return e("div", { className: "towline-tab", style: { padding: "1em" } },
      e("div", { className: "white-box" }, e("div", { className: "white-box__details" },
        row("MANAGED CLUSTER", text(cluster(app)) || "none"), where ? row("NAMESPACE THERE", text(where)) : null, row("LAST HEARD", heard(app)))),
      e("ol", { className: "towline-diagnosis", style: { listStyle: "none", margin: 0 } }, diagnosis(app).map((l) =>
        e("li", { key: l.name, className: "towline-" + l.state, style: { margin: "0.6em 0" } }, sign(l.state), e("strong", null, l.name), " ",
          e("span", null, words[l.state]), l.message ? e("div", { style: { whiteSpace: "pre-wrap", overflowWrap: "anywhere", marginLeft: "1.4em" } },
            e("bdi", null, text(l.message)), l.since ? " (since " + text(l.since) + ")" : "") : null))),
      e("p", null, "The cause, the remedy, and who can apply the remedy: ", e("code", null,
        "kubectl towline why -n " + text(app.metadata.namespace) + " " + text(app.metadata.name))),
      e("p", null, "Live manifests, logs, events and actions of a resource need the cluster's own Argo CD, or a connection of argocd-server to the cluster."));
  };

  window.extensionsAPI.registerResourceExtension(tab, "argoproj.io", "Application", "Pull", { icon: "fa-route" });
  if (window.extensionsAPI.registerStatusPanelExtension) window.extensionsAPI.registerStatusPanelExtension(panel, "Pull", "towline", tab);
})();
