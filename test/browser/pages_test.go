//go:build integration

package browser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"gitops-agent/reconcile/report"
)

// large is the number of guests for which the status page is made.
const large = 1000

// maxPage is the most that a page of a large cluster may have, in bytes and not compressed.
const maxPage = 1_000_000

// Every page fits into the window, keeps its Content-Security-Policy and breaks no rule of axe-core, also with all details unfolded. A page loads only from its
// own host.
func TestPages(t *testing.T) {
	t.Parallel()
	small, many := serve(t, newFleet(48)), serve(t, newFleet(large))
	light, dark := desktop, view{width: 400, height: 800, dark: true}
	for name, test := range map[string]struct {
		server *server
		path   string
		views  []view
	}{
		"overview":              {small, "/", []view{light, dark}},
		"guests by node":        {small, "/?problems=yes&group=node&sort=-drift", []view{dark}},
		"nothing selected":      {small, "/?search=nothing&refresh=off", []view{light}},
		"wrong selection":       {small, "/graph?sync=wrong", []view{light}},
		"guest in trouble":      {small, "/guests/1008", []view{light, dark}},
		"guest that differs":    {small, "/guests/1003", []view{dark}},
		"new guest":             {small, "/guests/VirtualMachine/wiki-jobs", []view{light}},
		"no such guest":         {small, "/guests/1", []view{dark}},
		"graph":                 {small, "/graph", []view{dark}},
		"1,000 guests":          {many, "/", []view{light, dark}},
		"graph of 1,000 guests": {many, "/graph?tag=staging", []view{light}},
	} {
		for _, v := range test.views {
			t.Run(fmt.Sprintf("%s %d", name, v.width), func(t *testing.T) {
				t.Parallel()
				checkPage(t, test.server, test.path, v)
			})
		}
	}
}

func checkPage(t *testing.T, s *server, path string, v view) {
	t.Helper()
	b := openTab(t, v)
	b.visit(s.address + path)
	b.checkWidth()
	if path == "/guests/1" { // the browser logs the status
		if problems := strings.Join(b.takeProblems(), "\n"); !strings.Contains(problems, "404") || strings.Contains(problems, "Policy") {
			t.Errorf("got %q from the browser, want the status 404 alone", problems)
		}
	}
	if len(s.newest().Guests) < large {
		b.openDetails()
		b.checkWidth()
	}
	b.checkAccessibility()
	if v.width != phone.width {
		b.do(chromedp.EmulateViewport(phone.width, phone.height))
		b.checkWidth()
	}
	for _, address := range b.requested() {
		if !strings.HasPrefix(address, s.address+"/") {
			t.Errorf("got a request for %s, want none for other hosts", address)
		}
	}
}

// A page of 1,000 guests stays small, also if every guest has a problem.
func TestPageSize(t *testing.T) {
	t.Parallel()
	usual, worst := newFleet(large), newFleet(large)
	for i := range worst.report.Guests {
		worst.drifted(&worst.report.Guests[i])
	}
	for name, f := range map[string]fleet{"usual": usual, "every guest differs": worst} {
		s := serve(t, f)
		for _, path := range []string{"/", "/?group=none", "/?group=tag&sort=-name", "/graph", "/guests/1003"} {
			response, err := http.Get(s.address + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK || len(body) > maxPage {
				t.Errorf("%s, %s: got status %d, %d bytes, %v; want at most %d bytes", name, path, response.StatusCode, len(body), err, maxPage)
			}
		}
	}
}

// Rows of guests without a problem are short on a phone, and show the sync state.
func TestQuietRowsOnAPhone(t *testing.T) {
	t.Parallel()
	b := openTab(t, phone)
	b.visit(serve(t, newFleet(48)).address + "/?sync=Synced&health=Healthy")
	row := eval[string](b, `document.querySelector(".quiet .guest").innerText`)
	if !strings.Contains(row, "in sync") || !strings.Contains(row, "shop-db-1") {
		t.Errorf("got the row %q, want the name and the sync state", row)
	}
	if height := eval[float64](b, `document.querySelector(".quiet .guest").offsetHeight`); height > 64 {
		t.Errorf("got a row of %.0f pixels, want at most two lines", height)
	}
}

// On a phone, the first guest is within the first screen, also on the page of a large cluster with problems.
func TestFirstGuestOnAPhone(t *testing.T) {
	t.Parallel()
	for _, guests := range []int{48, large} {
		b := openTab(t, phone)
		b.visit(serve(t, newFleet(guests)).address)
		if bottom := eval[float64](b, `document.querySelector(".guest").getBoundingClientRect().bottom`); bottom > float64(phone.height) {
			t.Errorf("%d guests: got the end of the first guest at %.0f pixels, want it within %d", guests, bottom, phone.height)
		}
	}
}

// Keys and buttons: / leads to the search, the first Tab to the content, and a command is copied with one click.
func TestKeysAndCopy(t *testing.T) {
	t.Parallel()
	b := openTab(t, desktop)
	b.visit(serve(t, newFleet(48)).address + "/guests/1008")
	b.do(chromedp.KeyEvent("\t"))
	b.until("the skip link", `document.activeElement.matches(".skip") && document.activeElement.getBoundingClientRect().left >= 0`)
	b.do(chromedp.KeyEvent("\r"))
	b.until("the content", `document.activeElement.localName === "main"`)
	eval[bool](b, `(() => { navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }; return true; })()`)
	b.click(`.held details summary`)
	b.click(`.held details .copy`)
	b.until("the command", `window.copied`)
	if got := eval[string](b, `window.copied`); !strings.HasPrefix(got, "git commit --allow-empty -S -m 'Approve destroy of ") || !strings.Contains(got, "\n") && !strings.Contains(got, "Gitops-Approve: ") {
		t.Errorf("got %q, want the git command that approves the step", got)
	}
	b.visit(serve(t, newFleet(48)).address)
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "/", Text: "/"})
	b.until("the search", `document.activeElement.name === "search" && document.activeElement.value === ""`)
}

// Without scripts, the page reloads itself, the form works, and details can be unfolded.
func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	s := serve(t, newFleet(48))
	b := openTab(t, view{width: 1280, height: 900, noScript: true})
	b.visit(s.address)
	if refresh := eval[string](b, `document.querySelector("meta[http-equiv=refresh]")?.content ?? "none"`); refresh != "10" {
		t.Errorf("got a reload every %s seconds, want 10", refresh)
	}
	for _, address := range b.requested() {
		if strings.HasSuffix(address, "/events") {
			t.Errorf("got a request for %s, want no script", address)
		}
	}
	b.click(`.group:not([open]) > summary`)
	b.until("unfolded group", `document.querySelectorAll(".group:not([open])").length === 0`)
	b.click(`input[name=problems]`)
	b.click(`.filter button`)
	b.until("selected guests", `location.search.includes("problems=yes") && document.querySelector("#guests").innerText.includes("9 of 48 selected")`)
	b.click(`a[href="guests/1008"]`)
	b.until("page of the guest", `location.pathname === "/guests/1008" && document.querySelector("#waits")`)
	b.click(`main a[href="../"]`)
	b.until("overview", `location.pathname === "/" && document.querySelector("#revisions")`)
	b.click(`thead a[href="?sort=name"]`)
	b.until("sorted guests", `document.querySelector("[aria-sort]").innerText.startsWith("guest")`)
}

// BenchmarkFirstByte requests a page of 1,000 guests that no earlier request has rendered: the time until its first byte. The target is 100 ms.
func BenchmarkFirstByte(b *testing.B) {
	s := serve(b, newFleet(large))
	for name, path := range map[string]string{"overview": "/", "guest": "/guests/1003", "graph": "/graph"} {
		b.Run(name, func(b *testing.B) {
			var total, longest time.Duration
			for b.Loop() {
				s.publish(func(*report.Report) {})
				begun := time.Now()
				var first time.Duration
				trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Since(begun) }}
				request, err := http.NewRequestWithContext(httptrace.WithClientTrace(context.Background(), trace), http.MethodGet, s.address+path, http.NoBody)
				if err != nil {
					b.Fatal(err)
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					b.Fatal(err)
				}
				size, err := io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if err != nil || size == 0 {
					b.Fatal(fmt.Errorf("got %d bytes: %w", size, err))
				}
				total, longest = total+first, max(longest, first)
			}
			b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "first-byte-ms/op")
			b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
		})
	}
}
