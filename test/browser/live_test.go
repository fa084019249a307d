//go:build integration

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"gitops-agent/reconcile/report"
)

// A newer report changes the open page of 1,000 guests without a reload: the scroll position, what is unfolded and folded, and the focus stay.
func TestLiveUpdates(t *testing.T) {
	t.Parallel()
	s := serve(t, newFleet(large))
	b := openTab(t, desktop)
	b.visit(s.address)
	b.until("connection", `document.getElementById("live").innerText === "live"`)
	b.click(`[data-key="group:no-action"] > summary`)
	b.click(`[data-key="d:Container/billing-web-1"] summary`) // folds it
	b.click(`[data-key="VirtualMachine/shop-db-1"]`)
	eval[bool](b, `(() => {
		window.before = document.querySelector('[data-key="VirtualMachine/shop-db-1"]');
		document.querySelector('[data-key="VirtualMachine/shop-db-1"] a').focus();
		return true;
	})()`)
	const state = `JSON.stringify([scrollY, document.querySelector('[data-key="group:no-action"]').open, document.querySelector('[data-key="d:Container/billing-web-1"] details').open,
		document.activeElement.innerText, window.before === document.querySelector('[data-key="VirtualMachine/shop-db-1"]')])`
	before := eval[string](b, state)
	if y := eval[float64](b, "scrollY"); y < 1000 {
		t.Fatalf("got the scroll position %.0f, want the row to be far below", y)
	}
	s.publish(func(r *report.Report) {
		g := &r.Guests[1] // below the row in view
		g.Status = "stopped"
		r.Guests[len(r.Guests)-1].Node = "pve-new"
	})
	b.until("changed guest", `document.querySelector('[data-key="Container/shop-cache"]').innerText.includes("stopped")`)
	if after := eval[string](b, state); after != before {
		t.Errorf("got scroll position, unfolded group, unfolded details, focus and same row %s after the update, want %s", after, before)
	}
	if n := eval[float64](b, `[...document.querySelectorAll("select[name=node] option")].filter(o => o.value === "pve-new").length`); n != 1 {
		t.Errorf("got %.0f options for the new node, want 1", n)
	}
	requests := len(b.requested())
	b.click(`header a[data-here]`)
	b.until("paused page", `document.getElementById("live").innerText === "paused" && location.search.includes("refresh=off")`)
	s.publish(func(r *report.Report) { r.Guests[1].Status = "paused" })
	b.click(`header a[data-here]`)
	b.until("update after the pause", `document.querySelector('[data-key="Container/shop-cache"]').innerText.includes("paused")`)
	if n := len(b.requested()); n == requests {
		t.Error("got no request after the pause, want one for the newest page")
	}
}

// The form, the headings and the tiles select, sort and group guests without a reload, and the address of the page says how: it can be copied, and the
// browser's back button works.
func TestSelectionIsInTheAddress(t *testing.T) {
	t.Parallel()
	s := serve(t, newFleet(large))
	b := openTab(t, desktop)
	b.visit(s.address)
	eval[bool](b, `window.same = true`)
	b.do(chromedp.SendKeys(chromedp.CSS(`input[name=search]`), "billing db"))
	b.until("guests that match", `document.querySelector("#guests").innerText.includes("16 of 1000 selected")`)
	b.until("search in the address", `new URLSearchParams(location.search).get("search") === "billing db"`)
	if got := eval[string](b, `document.activeElement.name + " " + document.activeElement.value`); got != "search billing db" {
		t.Errorf("got the focus on %q, want it in the search field", got)
	}
	choose := func(name, value string) {
		eval[bool](b, `(() => { const s = document.querySelector("select[name=`+name+`]"); s.value = "`+value+`"; return s.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	}
	choose("group", "node")
	b.until("groups by node", `document.querySelector(".group summary").innerText.startsWith("Node pve")`)
	b.click(`thead a`)
	b.until("order by name", `location.search.includes("sort=name") && document.querySelector("[aria-sort=ascending]").innerText.startsWith("guest")`)
	b.click(`thead a`)
	b.until("reverse order", `location.search.includes("sort=-name") && document.querySelector("[aria-sort=descending]")`)
	b.do(chromedp.NavigateBack())
	b.until("order before", `location.search.includes("sort=name") && document.querySelector("[aria-sort=ascending]")`)
	if !eval[bool](b, `window.same === true`) {
		t.Error("got a page that was loaded again, want the same one")
	}
	address := eval[string](b, `location.href`)
	rows := eval[string](b, `[...document.querySelectorAll(".guest th a")].map(a => a.innerText).join()`)
	other := openTab(t, desktop)
	other.visit(address)
	if got := eval[string](other, `[...document.querySelectorAll(".guest th a")].map(a => a.innerText).join()`); got != rows || got == "" {
		t.Errorf("%s: got the guests %s, want %s", address, got, rows)
	}
	if got := eval[string](other, `document.querySelector("input[name=search]").value + " " + document.querySelector("select[name=group]").value`); got != "billing db node" {
		t.Errorf("%s: got the form %q, want the search and the grouping", address, got)
	}
	b.click(`.filter a`)
	b.until("all guests", `location.search === "" && !document.querySelector("#guests").innerText.includes("selected")`)
	b.click(`input[name=problems]`)
	b.until("guests with problems", `location.search === "?problems=yes" && document.querySelectorAll(".guest").length < 100`)
	b.click(`.tiles a[href="?held=yes"]`)
	b.until("guests with held steps", `location.search === "?held=yes" && !document.querySelector("input[name=problems]").checked && document.querySelector("input[name=held]").checked`)
}
