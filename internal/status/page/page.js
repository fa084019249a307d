// Keeps a page up to date without a reload, and applies the form while it is typed into. The server renders everything: the script fetches the page of the
// present address and changes what differs, so that the scroll position, open rows and the focus stay.
"use strict";
(() => {
  const root = document.currentScript.dataset.root;
  const quiet = 2000; // least milliseconds between two updates that the user did not ask for
  let loading = null, again = false, last = Date.now(), stream = null, timer = 0, touched = new WeakSet();

  const paused = () => new URLSearchParams(location.search).get("refresh") === "off";
  const live = (text) => { const e = document.getElementById("live"); if (e && e.textContent !== text) e.textContent = text; };
  const key = (n) => n.nodeType === 1 ? (n.dataset.key || n.id || "") : "";

  function morph(from, to) {
    if (from.nodeType === 3) { if (from.data !== to.data) from.data = to.data; return; }
    if (from.nodeType !== 1) return;
    for (const a of [...from.attributes]) if (!to.hasAttribute(a.name) && !(a.name === "open" && touched.has(from))) from.removeAttribute(a.name);
    for (const a of to.attributes) {
      if (a.name === "open" && touched.has(from)) continue;
      if (from.getAttribute(a.name) !== a.value) from.setAttribute(a.name, a.value);
    }
    if (from === document.activeElement && from.matches("input,select")) return;
    if (from.localName === "input") { from.value = to.getAttribute("value") || ""; from.checked = to.hasAttribute("checked"); }
    children(from, to);
    if (from.localName === "select") { const o = to.querySelector("option[selected]"); from.value = o ? o.value : ""; }
  }

  function children(from, to) {
    const keyed = new Map();
    for (const n of from.childNodes) if (key(n)) keyed.set(key(n), n);
    let at = from.firstChild;
    for (const want of [...to.childNodes]) {
      const k = key(want);
      let have = k ? keyed.get(k) : at;
      if (have && !k && (key(have) || have.nodeType !== want.nodeType || have.localName !== want.localName)) have = null;
      if (!have) { from.insertBefore(document.importNode(want, true), at); continue; }
      if (have !== at) from.insertBefore(have, at); else at = at.nextSibling;
      keyed.delete(k);
      morph(have, want);
    }
    while (at) { const next = at.nextSibling; at.remove(); at = next; }
  }

  async function update() {
    if (loading) { again = true; return; }
    loading = location.href; last = Date.now();
    try {
      const reply = await fetch(loading, { headers: { Accept: "text/html" } });
      const text = await reply.text();
      if (!reply.headers.get("Content-Type").startsWith("text/html")) throw new Error(reply.status);
      const page = new DOMParser().parseFromString(text, "text/html");
      if (loading === location.href) {
        document.title = page.title;
        for (const part of ["header", "main"]) morph(document.querySelector(part), page.querySelector(part));
        live(paused() ? "paused" : stream && stream.readyState === 1 ? "live" : "connecting");
      }
    } catch (e) { live("not reachable"); }
    loading = null;
    if (again) { again = false; update(); }
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(update, Math.max(0, last + quiet - Date.now()));
  }

  function connect() {
    if (stream) stream.close();
    stream = null;
    if (paused() || document.hidden) return;
    stream = new EventSource(root + "events");
    stream.onopen = () => live("live");
    stream.onmessage = (e) => { if (e.data !== document.querySelector("main").dataset.edition) soon(); };
    stream.onerror = () => {
      live("reconnecting");
      if (stream && stream.readyState === 2) { stream = null; setTimeout(() => { if (!stream) { update(); connect(); } }, 10000); }
    };
  }

  function go(query, replace) {
    const here = new URL(location.href);
    here.search = query;
    if (here.href === location.href) return;
    history[replace ? "replaceState" : "pushState"](null, "", here);
    update();
    connect();
  }

  function ask(form, replace) {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) query.set(name, value);
    if (paused()) query.set("refresh", "off");
    go(query.toString(), replace);
  }

  document.addEventListener("click", (e) => { const s = e.target.closest("summary"); if (s) touched.add(s.parentElement); }, true);
  document.addEventListener("visibilitychange", () => { if (document.hidden) { connect(); } else { update(); connect(); } });
  addEventListener("popstate", () => { update(); connect(); });
  document.addEventListener("submit", (e) => { if (e.target.matches(".filter")) { e.preventDefault(); ask(e.target, false); } });
  let typing = 0;
  document.addEventListener("input", (e) => {
    const form = e.target.closest(".filter");
    if (!form) return;
    clearTimeout(typing);
    typing = setTimeout(() => ask(form, true), e.target.type === "search" ? 200 : 0);
  });
  document.addEventListener("click", (e) => {
    const link = e.target.closest("a[data-here]");
    if (!link || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    go(new URL(link.href).search, false);
  });
  document.addEventListener("click", (e) => {
    if (e.target.matches(".skip")) document.querySelector("main").focus();
    if (!e.target.matches(".copy")) return;
    const text = e.target.previousElementSibling;
    const done = (word) => { e.target.textContent = word; setTimeout(() => { e.target.textContent = "Copy"; }, 2000); };
    // Browsers offer the clipboard to https and to the same host only. Elsewhere the command is selected.
    if (navigator.clipboard) { navigator.clipboard.writeText(text.textContent).then(() => done("Copied"), () => done("Not allowed")); return; }
    getSelection().selectAllChildren(text);
    done("Selected");
  });
  document.addEventListener("keydown", (e) => {
    const search = document.querySelector(".filter [type=search]");
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || !search || e.target.matches("input,select,textarea")) return;
    e.preventDefault();
    search.focus();
    search.select();
  });
  document.documentElement.classList.add("script");
  connect();
})();
