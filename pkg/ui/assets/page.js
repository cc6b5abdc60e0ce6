// Keeps a page current with server-sent events, and moves the focus in a matrix with arrow keys. All HTML comes from the server,
// which escapes text.
"use strict";
(() => {
  const live = document.getElementById("live");
  const say = (text, on) => { if (live) { live.textContent = text; live.classList.toggle("on", on); } };
  const main = () => document.getElementById("main");

  // heard is the time of the last event from the server. The server sends an
  // event every 15 seconds.
  const patience = 40000;
  let heard = Date.now();
  let on = false;
  const hear = () => {
    heard = Date.now();
    on = true;
    const old = document.getElementById("outdated");
    say(old ? "not current" : "live", !old);
  };
  const lost = () => {
    on = false;
    say(`not live since ${new Date(heard).toISOString().slice(0, 19).replace("T", " ")}Z: trying again`, false);
  };

  // broken ends an open stream, and starts a new stream.
  let broken = () => {};

  // place returns the position of the focus. restore finds the position in new
  // elements.
  const place = () => {
    const a = document.activeElement, row = a && a.closest("[id]");
    if (!row || !main().contains(a)) return null;
    return { id: row.id, n: [...row.querySelectorAll("a,input,select,button")].indexOf(a) };
  };
  const restore = (p) => {
    const row = p && document.getElementById(p.id);
    if (!row || (document.activeElement && document.activeElement !== document.body)) return;
    const to = p.n < 0 ? row : row.querySelectorAll("a,input,select,button")[p.n];
    if (to) to.focus({ preventScroll: true });
  };

  const put = (part) => {
    const old = document.getElementById(part.ID);
    if (!old) return false;
    const t = document.createElement("template");
    t.innerHTML = part.HTML.trim();
    const now = t.content.firstElementChild;
    if (!now) return false;
    now.classList.add("changed");
    old.replaceWith(now);
    return true;
  };

  const patch = (parts) => {
    const p = place();
    const ok = parts.map(put).every(Boolean);
    rove();
    restore(p);
    if (!ok) reload();
  };

  let loading = false, again = false;
  const reload = async () => {
    if (loading) { again = true; return; }
    loading = true;
    try {
      const r = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
      if (r.status >= 500) throw new Error(r.statusText); // the page keeps the present content
      const page = new DOMParser().parseFromString(await r.text(), "text/html");
      const now = page.getElementById("main");
      // A reload would remove the text of a typing user.
      if (now && !(document.activeElement && document.activeElement.matches("input,select"))) {
        const p = place();
        main().replaceWith(document.adoptNode(now));
        document.title = page.title;
        if (on) hear();
        rove();
        restore(p);
      } else if (now) { setTimeout(reload, 3000); }
    } catch { lost(); broken(); } // the next event belongs to a page that is not loaded
    loading = false;
    if (again) { again = false; reload(); }
  };

  // rove keeps a single cell of a matrix in the order of the Tab key. Arrow keys reach all cells.
  const cells = (t) => [...t.rows].map((r) => [...r.cells].map((c) => c.querySelector("a")));
  const rove = () => {
    for (const t of document.querySelectorAll("table[data-grid]")) {
      const links = t.tBodies.length ? t.querySelectorAll("tbody a") : [];
      let kept = t.contains(document.activeElement) ? document.activeElement : null;
      for (const a of links) {
        if (!kept) kept = a;
        const to = a === kept ? 0 : -1;
        if (a.tabIndex !== to) a.tabIndex = to;
      }
    }
  };
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  document.addEventListener("keydown", (e) => {
    const step = steps[e.key], a = document.activeElement, table = a && a.closest("table[data-grid]");
    if (!step || !table || a.tagName !== "A" || e.ctrlKey || e.altKey || e.metaKey) return;
    const grid = cells(table), tr = a.closest("tr"), td = a.closest("th,td");
    let y = [...table.rows].indexOf(tr) + step[0], x = [...tr.cells].indexOf(td) + step[1];
    while (grid[y] && x >= 0 && x < grid[y].length && !grid[y][x]) { y += step[0]; x += step[1]; }
    const to = grid[y] && grid[y][x];
    if (!to) return;
    e.preventDefault();
    if (a.closest("tbody")) a.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });

  // retry tries again until the server answers with a page.
  const retry = () => setTimeout(async () => {
    const r = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" }).catch(() => null);
    if (r && r.ok) location.reload(); else retry();
  }, 10000);

  const listen = () => {
    const m = main();
    if (!m || !window.EventSource) return;
    if (!m.dataset.digest) { say("not live", false); retry(); return; }
    const at = new URL(location.href);
    at.searchParams.set("digest", m.dataset.digest);
    at.hash = "";
    const s = new EventSource(at);
    s.addEventListener("hello", hear);
    s.addEventListener("here", hear);
    s.addEventListener("patch", (e) => { patch(JSON.parse(e.data)); hear(); });
    s.addEventListener("reload", () => { hear(); reload(); });
    const leave = () => s.close();
    addEventListener("pagehide", leave);
    broken = () => {
      broken = () => {};
      clearInterval(watching);
      removeEventListener("pagehide", leave);
      lost();
      s.close(); // an open stream would reconnect with the digest of the old page
      setTimeout(() => reload().then(listen), 2000);
    };
    const watching = setInterval(() => { if (Date.now() - heard > patience) broken(); }, 5000);
    s.onerror = () => broken();
  };
  rove();
  listen();
})();
