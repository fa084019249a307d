package status_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"gitops-agent/internal/status"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// A commit has a page at the forge whose address follows from the remote.
func TestCommitLinks(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"https://github.com/infra/guests.git":                  "https://github.com/infra/guests/commit/",
		"git@github.com:infra/guests.git":                      "https://github.com/infra/guests/commit/",
		"github.com:infra/guests.git":                          "https://github.com/infra/guests/commit/",
		"ssh://git@ssh.github.com:443/infra/guests.git":        "https://github.com/infra/guests/commit/",
		"git@gitlab.com:infra/prod/guests.git":                 "https://gitlab.com/infra/prod/guests/-/commit/",
		"ssh://git@altssh.gitlab.com:443/infra/guests.git":     "https://gitlab.com/infra/guests/-/commit/",
		"ssh://git@gitlab.example.org:2222/infra/guests":       "https://gitlab.example.org/infra/guests/-/commit/",
		"ssh://gitea@gitea.example.org:2222/infra/guests.git":  "https://gitea.example.org/infra/guests/commit/",
		"forgejo@codeberg.org:infra/guests.git":                "https://codeberg.org/infra/guests/commit/",
		"https://git.example.org:3000/forge/infra/guests.git/": "https://git.example.org:3000/forge/infra/guests/commit/",
		"git@bitbucket.org:infra/guests.git":                   "https://bitbucket.org/infra/guests/commits/",
		"file:///srv/git/guests.git":                           "",
		"/srv/git/guests.git":                                  "",
	} {
		r := steady()
		r.Source.Remote = remote
		_, body := ask(t, optionsFor(r), "GET", "/guests/201")
		got := ""
		if found := regexp.MustCompile(`href="([^"]*)` + commitInForce + `"`).FindStringSubmatch(body); found != nil {
			got = found[1]
		}
		if got != want {
			t.Errorf("%s: got a link to %q, want %q", remote, got, want)
		}
	}
}

// The config replaces addresses.
func TestConfiguredLinks(t *testing.T) {
	t.Parallel()
	opts := optionsFor(steady())
	opts.Links = status.Links{Commit: "https://forge.example.org/x/{commit}?view=1", Proxmox: "https://pve.example.org/"}
	_, body := ask(t, opts, "GET", "/guests/201")
	for _, want := range []string{`href="https://forge.example.org/x/` + commitInForce + `?view=1"`, `href="https://pve.example.org/#v1:0:=lxc%2F201:4::::::"`} {
		if !strings.Contains(body, want) {
			t.Errorf("got no %s", want)
		}
	}
}

// Every link to the runbook leads to a heading of docs/operations.md. Held steps, conditions and notices have one.
func TestRunbookLinks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		headings[strings.ToLower(heading[1])] = true
	}
	used := map[string]bool{}
	look := func(r report.Report, links status.Links) string {
		opts := optionsFor(r)
		opts.Links = links
		_, body := ask(t, opts, "GET", "/")
		for _, found := range regexp.MustCompile(`href="https://runbook.test/operations.md#([^"]*)"`).FindAllStringSubmatch(body, -1) {
			used[found[1]] = true
			if !headings[found[1]] {
				t.Errorf("got a link to the heading %s, which docs/operations.md does not have", found[1])
			}
		}
		return body
	}
	runbook := status.Links{Runbook: "https://runbook.test/operations.md"}
	for _, stop := range reason.Stops() {
		r := troubled()
		r.Writes = report.Writes{Reason: stop, Paused: &pause.Note{}}
		r.Source.Error = "no route to host"
		look(r, runbook)
	}
	for _, reason := range reason.Holds() {
		r := troubled()
		r.Guests = []report.Guest{orphaned()}
		r.Guests[0].Held[0].Reason = reason
		look(r, runbook)
	}
	for _, reason := range reason.Conditions() {
		for _, kind := range []plan.ConditionType{
			plan.Drifted, plan.Pending, plan.PendingRestart, plan.Blocked, plan.Failed, plan.IdentityConflict, plan.Suspended, plan.NotObserved, plan.WaitsFor, plan.Leftover, plan.Warned,
		} {
			r := steady()
			r.Guests[0].Conditions = []plan.Condition{{Type: kind, Reason: reason, Message: "it is so"}}
			look(r, runbook)
		}
	}
	for _, want := range []string{"gitopsagentapprovalwaiting", "gitopsagentguestfailed", "gitopsagentguestflapping", "gitopsagentheadrefused", "gitopsagentpausedtoolong", "gitopsagentsourcestale", "gitopsagenttwoagents"} {
		if !used[want] {
			t.Errorf("got no link to the heading %s", want)
		}
	}
	if body := look(troubled(), status.Links{}); strings.Contains(body, "what to do") {
		t.Error("got links without a runbook, want none")
	}
}
