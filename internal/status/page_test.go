package status_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/status"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

func samples() map[string]report.Report {
	return map[string]report.Report{"steady": steady(), "troubled": troubled(), "starting": starting(), "unaccepted": unaccepted()}
}

func TestPageGolden(t *testing.T) {
	t.Parallel()
	for name, report := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atNoon(t, func(t *testing.T) {
				_, body := ask(t, optionsFor(report), "GET", "/")
				golden(t, name+".golden.html", []byte(withoutStyle(t, body)))
			})
		})
	}
}

var styleElement = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// style returns the style sheet in a page. A page has one.
func style(t *testing.T, page string) string {
	t.Helper()
	found := styleElement.FindAllStringSubmatch(page, -1)
	if len(found) != 1 {
		t.Fatalf("got %d style elements, want 1", len(found))
	}
	return found[0][1]
}

// withoutStyle returns a page with a placeholder for its style sheet, so that the golden files contain only the page.
func withoutStyle(t *testing.T, page string) string {
	t.Helper()
	return strings.Replace(page, style(t, page), "page.css", 1)
}

func TestPageCarriesItsStyleSheet(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("page/page.css")
	if err != nil {
		t.Fatal(err)
	}
	for name, report := range samples() {
		_, body := ask(t, optionsFor(report), "GET", "/")
		if got := style(t, body); got != string(want) || len(want) == 0 {
			t.Errorf("%s: got a style sheet of %d bytes, want the %d bytes of page.css", name, len(got), len(want))
		}
	}
}

func TestPageIsWellFormedAndSelfContained(t *testing.T) {
	t.Parallel()
	external := regexp.MustCompile(`(?i)<script|<link|<img|<iframe|@import|url\(|\sstyle=|\son[a-z]+=|(src|href)="(https?:)?//`)
	for name, report := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, body := ask(t, optionsFor(report), "GET", "/")
			if found := external.FindString(strings.ReplaceAll(withoutScript(t, body), `<a href="`, `<a to="`)); found != "" {
				t.Errorf("got %q, want nothing that the page's policy forbids", found)
			}
			if err := balanced(body); err != nil {
				t.Errorf("got %v, want every element closed", err)
			}
		})
	}
}

var scriptElement = regexp.MustCompile(`<script src="((?:\.\./)*)page\.js" data-root="((?:\.\./)*)" defer></script>`)

// withoutScript returns a page without the element of its script. A page has one.
func withoutScript(t *testing.T, page string) string {
	t.Helper()
	if found := scriptElement.FindAllString(page, -1); len(found) != 1 {
		t.Errorf("got scripts %q, want page.js alone", found)
	}
	return scriptElement.ReplaceAllString(page, "")
}

// balanced checks that elements open and close in order.
func balanced(page string) error {
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []string
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) && len(open) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("within %v: %w", open, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if !slices.Contains([]string{"meta", "br", "input"}, e.Name.Local) {
				open = append(open, e.Name.Local)
			}
		case xml.EndElement:
			if last := len(open) - 1; last >= 0 && open[last] == e.Name.Local {
				open = open[:last]
			} else if !slices.Contains([]string{"meta", "br", "input"}, e.Name.Local) {
				return fmt.Errorf("</%s> within %v", e.Name.Local, open)
			}
		}
	}
}

func TestPagePolicyFitsItsStyle(t *testing.T) {
	t.Parallel()
	res, body := ask(t, optionsFor(troubled()), "GET", "/")
	sum := sha256.Sum256([]byte(style(t, body)))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	if got := res.Header().Get("Content-Security-Policy"); got != want {
		t.Errorf("got policy %q, want %q", got, want)
	}
}

func TestPageRefresh(t *testing.T) {
	t.Parallel()
	const reload = `<meta http-equiv="refresh" content="10">`
	for target, want := range map[string]bool{"/": true, "/?refresh=off": false, "/?other=1": true} {
		_, body := ask(t, optionsFor(steady()), "GET", target)
		if got := strings.Contains(body, reload); got != want {
			t.Errorf("%s: got reload %v, want %v", target, got, want)
		}
	}
}

func TestPageOfOneGuest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		target string
		status int
		want   string
	}{
		"in_sync":   {"/guests/201", 200, "The guest is as its manifest says."},
		"orphaned":  {"/guests/307", 200, "so there is nothing to compare it with"},
		"by_label":  {"/guests/Container/dns-1", 200, `<a href="../../">All guests</a>`},
		"paused":    {"/guests/201?refresh=off", 200, `data-here>resume</a>`},
		"running":   {"/guests/201", 200, `<a href="?refresh=off" data-here>pause</a>`},
		"by_forge":  {"/guests/201", 200, `href="https://git.example.org/infra/guests/commit/` + commitInForce + `"`},
		"proxmox":   {"/guests/201", 200, `href="https://pve1.lan:8006/#v1:0:=lxc%2F201:4::::::"`},
		"gone":      {"/guests/299", 404, "No manifest names this guest"},
		"gone_name": {"/guests/Container/dns-9", 404, "<h2>Container/dns-9</h2>"},
		"hostile":   {"/guests/%22%3E%3Cscript%3E", 404, `<h2>&#34;&gt;&lt;script&gt;</h2>`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := steady()
			r.Guests = append(r.Guests, orphaned())
			res, body := ask(t, optionsFor(r), "GET", test.target)
			if res.Code != test.status || !strings.Contains(body, test.want) {
				t.Errorf("got %d, want %d and %q in\n%s", res.Code, test.status, test.want, body)
			}
			if strings.Contains(body, `href="#`) || strings.Contains(body, `href="/`) {
				t.Error("got a link within the page, which would stop its reloads, or one that is not relative")
			}
			if err := balanced(body); err != nil {
				t.Errorf("got %v, want every element closed", err)
			}
		})
	}
	packed := httptest.NewRequest("GET", "/guests/299", nil)
	packed.Header.Set("Accept-Encoding", "gzip")
	if res, _ := send(t, status.Handler(optionsFor(steady())), packed); res.Code != 404 || res.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("got %d and the encoding %q of a page without a guest, want 404 and gzip", res.Code, res.Header().Get("Content-Encoding"))
	}
	if res, _ := ask(t, optionsFor(steady()), "GET", "/?guest=Container/dns-1"); res.Code != 303 || res.Header().Get("Location") != "guests/Container/dns-1" {
		t.Errorf("got %d to %q, want the page of the guest", res.Code, res.Header().Get("Location"))
	}
}

// full returns options with a history, dependencies and keys, for the pages that show them.
func full() status.Options {
	r := troubled()
	r.Guests[2].DependsOn, r.Guests[0].Tags = []string{"VirtualMachine/db-1", "Container/dns-1"}, []string{"infra"}
	r.Guests[3].DependsOn = []string{"Container/dns-1"}
	opts := optionsFor(r)
	opts.Values = func(g report.Guest) []report.Value {
		return []report.Value{
			{Key: "cipassword", Desired: report.Concealed, Live: report.Concealed, Origin: "guests/web.yaml:14:5"},
			{Key: "cores", Live: "2"},
			{Key: "memory", Desired: "4096", Live: "2048", Next: "4096", Waits: true, Differs: len(g.Changes) > 0, Origin: "guests/web.yaml:12:5"},
			{Key: "net1", Absent: true, Origin: "guests/web.yaml:21:5"},
		}
	}
	opts.Target, opts.History = "home/main", &history.Index{}
	for i, body := range []journal.Body{
		journal.Accepted{Commit: commitInForce, Subject: "alice@example.org", Issuer: "https://accounts.example.org", ProvenTime: noon.Add(-51 * time.Hour)},
		journal.Begun{Step: "s1", VMID: 212, Kind: "VirtualMachine", Name: "web-2", Op: "config", Class: "live", Revision: inForce},
		journal.Dispatched{Step: "s1", UPID: "UPID:pve2:0003A7F2:01C9D3A1:69BFD0C0:qmconfig:212:root@pam!gitops:"},
		journal.Ended{Step: "s1", Result: journal.Failed, Error: "storage is full"},
		journal.Event{Name: "drift-found", VMID: 212, Revision: inForce, Message: "cluster"},
		journal.Begun{Step: "s2", VMID: 212, Kind: "VirtualMachine", Name: "web-2", Op: "reboot", Class: "restart", Revision: inForce},
		journal.Event{Name: event.RecordRefused, Revision: strings.Repeat("4", 40), Message: "not-descendant", Detail: "reject 4444444: the history was rewritten", Hint: "gitops-agent allow-rewrite COMMIT"},
		journal.Event{Name: event.RecordRefused, Revision: commitRefused, Message: "unsigned"},
	} {
		opts.History.Add(journal.Record{Time: noon.Add(time.Duration(i-60) * time.Minute), Body: body})
	}
	return opts
}

func TestPagesGolden(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{
		"guest": "/guests/212", "held": "/guests/307", "graph": "/graph", "history": "/", "selected": "/?search=web&sort=-name&group=node&sync=lost",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atNoon(t, func(t *testing.T) {
				_, body := ask(t, full(), "GET", target)
				if err := balanced(body); err != nil {
					t.Errorf("got %v, want every element closed", err)
				}
				golden(t, name+".golden.html", []byte(withoutStyle(t, body)))
			})
		})
	}
}

// fill puts text(path) into every string below v, one element into every list, and a time into every time.
func fill(v reflect.Value, path string, text func(path string) string) {
	switch v.Kind() { //nolint:exhaustive // a report is made of these alone
	case reflect.String:
		v.SetString(text(path))
	case reflect.Int:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path, text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path, text)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(noon))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), path+"."+v.Type().Field(i).Name, text)
		}
	default:
	}
}

func TestPageEscapesEveryText(t *testing.T) {
	t.Parallel()
	const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}javascript:alert(1)`
	var r report.Report
	fill(reflect.ValueOf(&r).Elem(), "", func(string) string { return hostile })
	_, body := ask(t, optionsFor(r), "GET", "/")
	body = withoutScript(t, body)
	for _, bad := range []string{"<script", "<img", `href="javascript`, `"'>`} {
		if strings.Contains(body, bad) {
			t.Errorf("got %q on the page, want it escaped", bad)
		}
	}
	if err := balanced(body); err != nil {
		t.Errorf("got %v, want every element closed", err)
	}
}

func TestPageShowsEveryText(t *testing.T) {
	t.Parallel()
	var r report.Report
	var paths []string
	fill(reflect.ValueOf(&r).Elem(), "", func(path string) string {
		paths = append(paths, path)
		return "text of " + path + " end"
	})
	r.Guests[0].Conditions = append(r.Guests[0].Conditions, plan.Condition{Type: plan.Held})
	_, body := ask(t, optionsFor(r), "GET", "/")
	body = html.UnescapeString(body)
	elsewhere := map[string]string{
		".Guests.Conditions.Revision": "the guest's own revision is shown",
		".Guests.Conditions.Settings": "the message holds them",
		".Guests.Conditions.Act":      "the remedy says it in words; the act is for programs",

		".Guests.WhyNode":            "the page of the guest shows it",
		".Guests.Snapshots.Schedule": "the page of the guest shows it",
		".Guests.Schedules.Field":    "the page of the object shows it",
		".Guests.Schedules.Text":     "the page of the object shows it",
		".Guests.Schedules.Words":    "the page of the object shows it",
		".Guests.Digest":             "gitops-agent status -o json has it, for attestations",

		".Source.Ahead.Commit":                "the text of the notice has its first digits",
		".Source.Ahead.IDs":                   "status --wait looks for a revision among them",
		".Source.Ahead.Misaddressed":          "the metrics count them",
		".Late.Component":                     "the text of the notice describes it",
		".Late.Node":                          "only the guests of a node have one",
		".Late.Remote":                        "only the remotes of git have one",
		".Guards.Held.Hold.Uncounted.Reason":  "the message holds it",
		".Guards.Held.Hold.Uncounted.Signer":  "the message holds it",
		".Guards.Held.Hold.Uncounted.Subject": "the message holds it",
		".Guests.Held.Hold.Uncounted.Reason":  "the message holds it",
		".Guests.Held.Hold.Uncounted.Signer":  "the message holds it",
		".Guests.Held.Hold.Uncounted.Subject": "the message holds it",

		".Guards.Held.Hold.Policies.Policy":  "no policy is about a guard",
		".Guards.Held.Hold.Policies.Result":  "no policy is about a guard",
		".Guards.Held.Hold.Policies.Message": "no policy is about a guard",
		".Guards.Held.Hold.Policies.Source":  "no policy is about a guard",
		".Guests.Held.Hold.Policies.Policy":  "the message holds it, and a condition that of a warning",
		".Guests.Held.Hold.Policies.Result":  "the message holds it, and a condition that of a warning",
		".Guests.Held.Hold.Policies.Message": "the message holds it, and a condition that of a warning",
		".Guests.Held.Hold.Policies.Source":  "the message holds it, and a condition that of a warning",

		".Orders.Guest": "the order holds it",
		".Orders.Hint":  "the command of an order that is held",
		".Orders.Step":  "the history of the guest has it",

		".Retried.ID":                     "the command gitops-agent retry prints it",
		".Retried.Guests.Guest":           "the command gitops-agent retry prints it",
		".Retried.Guests.Cleared":         "the command gitops-agent retry prints it",
		".Retried.Guests.Remains.Reason":  "the command gitops-agent retry prints it",
		".Retried.Guests.Remains.Message": "the command gitops-agent retry prints it",
		".Retried.Guests.Remains.Hint":    "the command gitops-agent retry prints it",
		".Retried.Unknown":                "the command gitops-agent retry prints it",
	}
	for _, path := range paths {
		if shown := strings.Contains(body, "text of "+path+" end"); shown == (elsewhere[path] != "") {
			t.Errorf("%s: got shown %v (%s)", path, shown, elsewhere[path])
		}
	}
}

func TestPageTexts(t *testing.T) {
	t.Parallel()
	many := func(n int) func(r *report.Report) {
		return func(r *report.Report) {
			r.Guests = nil
			for i := range n {
				g := failed()
				g.Name, g.VMID = fmt.Sprintf("mail-%d", i), 300+i
				r.Guests = append(r.Guests, g)
			}
		}
	}
	tests := map[string]struct {
		change func(r *report.Report)
		want   []string
		not    []string
	}{
		"all_well": {func(*report.Report) {}, []string{"<title>All 4 guests match main@3f2a1c94 · pve-lab"}, []string{"Needs attention"}},
		"all_but_root": {func(r *report.Report) {
			r.Guests[0].Conditions = []plan.Condition{{Type: plan.Warned, Reason: reason.NeedsRoot, Message: "Proxmox lets only root@pam set this", Hint: "as root on pve1: qm set 201 --args -x", Settings: []string{"args"}}}
			r.Except = report.NewExcept(r.Guests)
		}, []string{
			"<title>All 4 guests match main@3f2a1c94, except for 1 setting that needs root", `<article class="notice warn">`, "as root on pve1: qm set 201 --args -x", "Synced, except 1",
		}, []string{`<article class="notice good">`}},
		"no_firewall_and_drift": {func(r *report.Report) {
			r.Guests[0].Conditions = []plan.Condition{{Type: plan.Warned, Reason: reason.FirewallIneffective, Hint: "turn it on", Settings: []string{"net0 has no firewall=1", "the firewall of the datacenter is off"}}}
			r.Guests[1].Sync, r.Converged = report.OutOfSync, false
			r.Except = report.NewExcept(r.Guests)
		}, []string{"In sync except for 2 parts of firewalls that have no effect", "turn it on"}, []string{"guests match"}},
		"one_guest":    {func(r *report.Report) { r.Guests = r.Guests[:1] }, []string{"The only guest matches main@3f2a1c94"}, nil},
		"nothing_kept": {func(r *report.Report) { r.Guests = nil }, []string{"No guests to manage: main@3f2a1c94 names none", "The revision in force names no guest"}, nil},
		"refused": {func(r *report.Report) { *r = troubled() }, []string{
			"<title>Revision 9be1d772 is refused: unsigned", "reject 9be1d77: commit is not signed", "sign it with gitsign",
			"The accepted revision stays in force: main@3f2a1c94.",
		}, []string{"guests match main"}},
		"no_revision": {func(r *report.Report) { *r = unaccepted() }, []string{
			"No revision is accepted yet", "the head 9be1d772 is refused (missing-anchor)", "No revision is in force.",
		}, []string{"Writing is stopped"}},
		"journal": {func(r *report.Report) {
			r.Writes, r.Journal = stop(reason.StopJournal, "no space left on device"), report.Journal{Error: "no space left on device"}
		}, []string{"<title>The journal cannot be written, so the agent does not write to the cluster"}, []string{`<h2>The journal cannot be written</h2>`}},
		"etcd_gone": {func(r *report.Report) {
			r.Writes, r.Journal = stop(reason.StopJournal, "no answer in time"), report.Journal{Error: "no answer in time", Reason: journal.FaultUnreachable}
		}, []string{"store-unreachable", "bring etcd back"}, []string{"free space"}},
		"etcd_of_before": {func(r *report.Report) {
			r.Writes, r.Journal = stop(reason.StopJournal, "it ends with record 7"), report.Journal{Error: "it ends with record 7", Reason: journal.FaultRolledBack}
		}, []string{"store-rolled-back", "restored from an old copy"}, []string{"free space"}},
		"journal_in_dry_run": {func(r *report.Report) {
			r.Writes, r.Journal = stop(reason.StopDryRun, ""), report.Journal{Error: "no space left on device"}
		}, []string{"<title>The journal cannot be written · ", "Dry run"}, nil},
		"cluster": {func(r *report.Report) {
			r.Writes, r.Proxmox = stop(reason.StopNotReady, "no quorum"), report.Proxmox{Error: "no quorum"}
		}, []string{"<title>The cluster cannot be written to"}, []string{"could not be read completely"}},
		"cluster_before_a_revision": {func(r *report.Report) {
			*r = unaccepted()
			r.Proxmox = report.Proxmox{Error: "no route to host"}
		}, []string{"The cluster could not be read completely", "no route to host", "known: the cluster has not been read yet"}, nil},
		"unverified": {
			func(r *report.Report) { r.Writes = stop(reason.StopUnverified, "its log is not trusted") },
			[]string{"The accepted revision no longer verifies", "its log is not trusted"},
			nil,
		},
		"superseded": {func(r *report.Report) {
			r.Writes = stop(reason.StopSuperseded, "gitops-agent run --take-over")
		}, []string{"<title>Another agent has claimed this cluster", "gitops-agent run --take-over"}, nil},
		"unclaimed": {func(r *report.Report) {
			r.Writes = stop(reason.StopUnclaimed, "permission check failed")
		}, []string{"<title>The agent could not claim the cluster", "permission check failed"}, nil},
		"state_directory": {func(r *report.Report) {
			r.Writes = stop(reason.StopStateDirectory, "lstat lock: no such file or directory")
		}, []string{"<title>The state directory was removed or replaced", "lstat lock"}, nil},
		"stopping": {func(r *report.Report) { r.Writes = stop(reason.StopClosing, "the agent is stopping") }, []string{"<h2>The agent is stopping</h2>"}, nil},
		"paused": {func(r *report.Report) {
			r.Writes = stop(reason.StopPaused, "by user 1000")
			r.Writes.Paused = &pause.Note{UID: 1000, Since: noon.Add(-time.Hour), Until: noon.Add(time.Hour), Reason: "kernel update"}
		}, []string{"<title>The agent is paused", "paused by user 1000 since ", ": kernel update", "gitops-agent resume"}, []string{"The agent does not write to the cluster"}},
		"paused_in_dry_run": {func(r *report.Report) {
			r.Writes = stop(reason.StopDryRun, "")
			r.Writes.Paused = &pause.Note{Since: noon}
		}, []string{"<title>The agent is paused", "Dry run"}, nil},
		"forge_down": {
			func(r *report.Report) { r.Source.Error = "fetch: connection refused" },
			[]string{"The remote could not be read", "does not answer", "All 4 guests"},
			nil,
		},
		"warned": {
			func(r *report.Report) {
				r.Source.Accepted.Warnings = []string{"classes.yaml:4:8: GuestClass web: select: no guest matches"}
			},
			[]string{"<title>All 4 guests match main@3f2a1c94", "<h2>The manifests have warnings</h2>", "GuestClass web: select: no guest matches"},
			nil,
		},
		"stuck":    {func(r *report.Report) { r.Time = noon.Add(-time.Hour) }, []string{"The agent seems to be stuck", "The last cycle ended 1 h ago."}, nil},
		"approval": {func(r *report.Report) { *r = troubled() }, []string{"gitops-agent approve " + stepDigest, "1 guest waits for a signed approval"}, []string{"→ gitops-agent approve"}},
		"origin":   {func(r *report.Report) { *r = troubled() }, []string{"guests/web.yaml:12:5", `href="guests/212"`}, nil},
		"guarded": {func(r *report.Report) {
			g := orphaned()
			g.Held[0].Reason, g.Held[0].Digest, g.Held[0].Hint = reason.DestroyLimit, "", "check source.paths and the repository"
			r.Guests, r.Converged = append(r.Guests, g), false
		}, []string{"1 guest is not destroyed because of a guard", "check source.paths and the repository"}, []string{"gitops-agent approve"}},
		"suspended": {func(r *report.Report) {
			r.Guests[0].Health, r.Guests[0].Sync, r.Converged = report.HealthSuspended, report.OutOfSync, false
			r.Guests[0].Conditions = []plan.Condition{{Type: plan.Suspended, Message: "suspended by alice: maintenance"}}
		}, []string{"Suspended</span>", "suspended by alice: maintenance", "<title>3 of 4 guests in sync · pve-lab"}, nil},
		"few_open":         {many(3), []string{"3 guests could not be brought in sync", "<details open>"}, []string{"<details>"}},
		"too_many_to_open": {many(100), []string{"100 guests could not be brought in sync", "<details open>", "<details>"}, nil},
		"unmanaged":        {func(*report.Report) {}, []string{"old-fileserver", "no name"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atNoon(t, func(t *testing.T) {
				r := steady()
				test.change(&r)
				_, body := ask(t, optionsFor(r), "GET", "/")
				for _, want := range test.want {
					if !strings.Contains(body, want) {
						t.Errorf("got no %q on the page", want)
					}
				}
				for _, not := range test.not {
					if strings.Contains(body, not) {
						t.Errorf("got %q on the page, want it left out", not)
					}
				}
			})
		})
	}
}

// TestPageOfJobSaysWhenItRuns holds that the page of a job says in words when its schedule comes, and when next.
func TestPageOfJobSaysWhenItRuns(t *testing.T) {
	t.Parallel()
	r := steady()
	r.Guests[0].Schedules = []report.Schedule{{Field: "schedule", Text: "24:00", Words: "every hour at minute 24", Next: r.Time.Add(time.Hour)}, {Field: "schedule", Words: "day 1 of 2023"}}
	_, body := ask(t, optionsFor(r), "GET", fmt.Sprintf("/guests/%d", r.Guests[0].VMID))
	for _, want := range []string{"<dt>schedule</dt><dd><code>24:00</code> every hour at minute 24, next <time", `day 1 of 2023, <span class="badge warn">never again</span>`} {
		if !strings.Contains(body, want) {
			t.Errorf("got no %q in\n%s", want, body)
		}
	}
}

func TestPageOfGuestWithSnapshots(t *testing.T) {
	t.Parallel()
	r := steady()
	r.Guests[0].Snapshots = &report.Snapshots{Schedule: "daily", Taken: 3, Newest: r.Time.Add(-50 * time.Hour), LateSince: r.Time.Add(-26 * time.Hour)}
	_, body := ask(t, optionsFor(r), "GET", fmt.Sprintf("/guests/%d", r.Guests[0].VMID))
	for _, want := range []string{"<dd>3 by the schedule daily, the newest <time", `<span class="badge warn">late</span> since <time`} {
		if !strings.Contains(body, want) {
			t.Errorf("got no %q in\n%s", want, body)
		}
	}
	if err := balanced(body); err != nil {
		t.Errorf("got %v, want every element closed", err)
	}
}
