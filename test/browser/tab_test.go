//go:build integration

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	devlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for a page. A test that passes does not depend on it. It is long because axe-core needs eight seconds for the page of 1,000
// guests on an idle machine, and more than a minute where packages are tested with the race detector beside it.
const patience = 5 * time.Minute

// axeFile is the script of axe-core that npm installs.
const axeFile = "node_modules/axe-core/axe.min.js"

var (
	chromium context.Context // of the browser, in which each test opens tabs
	axe      string          // the script of axe-core
)

// TestMain starts the browser that all tests share.
func TestMain(m *testing.M) {
	if err := run(m); err != nil {
		log.Fatal(err)
	}
}

func run(m *testing.M) error {
	script, err := os.ReadFile(axeFile)
	if err != nil {
		return fmt.Errorf("%w: npm ci --prefix test/browser", err)
	}
	axe = string(script)
	ctx, stop := chromedp.NewContext(context.Background())
	defer stop()
	if err := chromedp.Do(ctx); err != nil {
		return fmt.Errorf("start the browser: %w: apt-get install chromium", err)
	}
	chromium = ctx
	m.Run()
	return nil
}

// view is how a page is looked at.
type view struct {
	width, height int64 // pixels
	dark          bool
	noScript      bool // scripts of the page do not run
}

var (
	desktop = view{width: 1280, height: 900}
	phone   = view{width: 400, height: 800}
)

// tab is a tab of the browser.
type tab struct {
	*testing.T

	ctx context.Context //nolint:containedctx // the tab ends with it

	mu       sync.Mutex
	problems []string
	requests []string // addresses that the page asked for
}

// openTab opens a tab with its own storage. When the test ends, it fails if the page had a problem that expect has not taken.
func openTab(t *testing.T, v view) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	b := &tab{T: t, ctx: ctx}
	b.ok(chromedp.Listen(ctx, b.note))
	scheme := "light"
	if v.dark {
		scheme = "dark"
	}
	b.do(chromedp.EmulateViewport(v.width, v.height))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.noScript})
	t.Cleanup(func() {
		for _, problem := range b.takeProblems() {
			t.Errorf("the browser reports: %s", problem)
		}
	})
	return b
}

// note collects what the browser reports about the page: errors and warnings of the console, breaches of the Content-Security-Policy, replies with an
// error, exceptions. It also collects the addresses that the page asks for.
func (b *tab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *devlog.EventEntryAdded:
		b.problems = append(b.problems, fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, fmt.Sprintf("console: %s", e.Type))
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// takeProblems returns the problems that the browser has reported since the last call.
func (b *tab) takeProblems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

// requested returns the addresses that the page has asked for.
func (b *tab) requested() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.requests...)
}

func (b *tab) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// do carries out actions, one after the other.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	b.ok(chromedp.Do(b.ctx, actions...))
}

// visit loads an address.
func (b *tab) visit(address string) {
	b.Helper()
	b.do(chromedp.Navigate(address))
}

// click clicks the first element of a selector, as a person does: it must be visible.
func (b *tab) click(selector string) {
	b.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// call sends a command of the DevTools protocol.
func call[P, R any](b *tab, c cdp.Command[P, R], params P) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, c, params)
	b.ok(err)
}

// eval returns the value of an expression of JavaScript, also where the scripts of the page do not run. It waits for a promise.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression of JavaScript is true. While a page is being loaded, it may fail.
func (b *tab) until(what, expression string) {
	b.Helper()
	deadline := time.Now().Add(patience / 2)
	for {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if is {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s: got no %s (%v); the page is\n%s", eval[string](b, "location.href"), what, err, eval[string](b, "document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// violation is a rule of axe-core that a page breaks.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string   `json:"html"`
		Target  []string `json:"target"`
		Summary string   `json:"failureSummary"`
	} `json:"nodes"`
}

// violations returns the rules of axe-core that the page breaks.
func (b *tab) violations() []violation {
	b.Helper()
	if !eval[bool](b, `typeof axe === "object"`) {
		b.do(chromedp.Evaluate[chromedp.Void](axe))
	}
	text := eval[string](b, `axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations))`)
	var list []violation
	b.ok(json.Unmarshal([]byte(text), &list))
	return list
}

// checkAccessibility fails the test for each rule of axe-core that the page breaks.
func (b *tab) checkAccessibility() {
	b.Helper()
	for _, v := range b.violations() {
		n := v.Nodes[0]
		b.Errorf("axe-core: %s (%s): %d elements, such as %s\n%s\n%s", v.ID, v.Help, len(v.Nodes), strings.Join(n.Target, " "), n.HTML, n.Summary)
	}
}

// checkWidth fails the test if a person has to scroll the page to the side.
func (b *tab) checkWidth() {
	b.Helper()
	if wide := b.tooWide(); wide != "" {
		b.Errorf("the page is wider than the window: %s", wide)
	}
}

// tooWide returns the elements that make the page wider than the window, "" if it is not.
func (b *tab) tooWide() string {
	b.Helper()
	return eval[string](b, `(() => {
		const window = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= window) return "";
		const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > window && !e.closest(".graph"));
		return document.documentElement.scrollWidth + " pixels: " + wide.slice(0, 5).map(e => e.outerHTML.slice(0, 200)).join("\n");
	})()`)
}

// openDetails unfolds all that can be unfolded.
func (b *tab) openDetails() {
	b.Helper()
	eval[bool](b, `document.querySelectorAll("details").forEach(d => d.open = true) === undefined`)
}
