package commitstatus_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/commitstatus"
	"gitops-agent/internal/forge"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

var first, second = strings.Repeat("a1", 20), strings.Repeat("b2", 20)

// request is what the forge got.
type request struct {
	Method, Path, Token string
	Body                map[string]string
}

// forgeServer answers with the statuses in order, and then with 201.
func forgeServer(t *testing.T, header string, codes ...int) (string, chan request) {
	t.Helper()
	got := make(chan request, 100)
	answers := make(chan int, 100)
	for _, code := range codes {
		answers <- code
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := request{Method: r.Method, Path: r.URL.EscapedPath(), Token: r.Header.Get(header)}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &q.Body); err != nil {
			t.Errorf("got body %q: %v", body, err)
		}
		select {
		case code := <-answers:
			w.WriteHeader(code)
		default:
			w.WriteHeader(http.StatusCreated)
		}
		got <- q
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// start runs a reporter until the test ends.
func start(t *testing.T, f commitstatus.Forge) (*commitstatus.Reporter, chan commitstatus.Result) {
	t.Helper()
	results := make(chan commitstatus.Result, 100)
	f.Context, f.Link, f.Timeout = "gitops-agent/home", "https://agent.test/", 5*time.Second
	if f.Token == nil {
		f.Token = func() (string, error) { return "S3cret", nil }
	}
	r := commitstatus.New(f, func(result commitstatus.Result) { results <- result }, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return r, results
}

func accepted(commit string, edit func(*report.Report)) report.Report {
	r := report.Report{
		Writes: report.Writes{Allowed: true}, Source: report.Source{Accepted: &report.Revision{Commit: commit}},
		Guests: []report.Guest{{GuestName: report.GuestName{Kind: guest.Container, Name: "dns", VMID: 210}, Sync: report.OutOfSync}},
	}
	if edit != nil {
		edit(&r)
	}
	return r
}

func converged(r *report.Report) {
	r.Source.Accepted.Converged = time.Unix(1, 0)
	r.Guests[0].Sync = report.Synced
}

func held(r *report.Report) {
	r.Guests[0].Held = []report.HeldStep{{Op: cluster.OpDestroy, Hold: report.Hold{Reason: reason.Holds()[0]}, Digest: "4f1c"}}
	if reason.Holds()[0] == reason.WritesStopped {
		r.Guests[0].Held[0].Reason = reason.Holds()[1]
	}
}

func next(t *testing.T, got chan request) request {
	t.Helper()
	select {
	case q := <-got:
		return q
	case <-time.After(2 * time.Minute):
		t.Fatal("got no request within two minutes")
		return request{}
	}
}

func TestStatusesAtEachForge(t *testing.T) {
	t.Parallel()
	tests := map[forge.Kind]struct {
		header, token, path                           string
		pending, held, converged, refused, repository string
	}{
		forge.GitHub: {"Authorization", "Bearer S3cret", "/repos/example/homelab/statuses/", "pending", "pending", "success", "failure", "example/homelab"},
		forge.Gitea:  {"Authorization", "token S3cret", "/repos/example/homelab/statuses/", "pending", "pending", "success", "failure", "example/homelab"},
		forge.GitLab: {"Private-Token", "S3cret", "/projects/example%2Fgroup%2Fhomelab/statuses/", "running", "", "success", "failed", "example/group/homelab"},
	}
	for kind, test := range tests {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			api, got := forgeServer(t, test.header)
			r, _ := start(t, commitstatus.Forge{Kind: kind, API: api, Repository: test.repository})
			expect := func(commit, state, description string) {
				t.Helper()
				q := next(t, got)
				want := request{http.MethodPost, test.path + commit, test.token, map[string]string{
					"state": state, "target_url": "https://agent.test/", "context": "gitops-agent/home", "description": q.Body["description"],
				}}
				if diff := cmp.Diff(want, q); diff != "" || !strings.Contains(q.Body["description"], description) {
					t.Errorf("%s: got %q, want %q in it; request (-want +got):\n%s", state, q.Body["description"], description, diff)
				}
			}
			r.Offer(accepted(first, nil))
			expect(first, test.pending, "0 of 1 guests are in sync")
			if r.Offer(accepted(first, held)); test.held != "" {
				expect(first, test.held, "destroy of Container/dns")
			}
			r.Offer(accepted(first, converged))
			expect(first, test.converged, "in sync")
			r.Offer(accepted(first, converged))
			r.Offer(accepted(first, func(r *report.Report) {
				converged(r)
				r.Source.Waiting = &report.WaitingHead{Commit: second, Reason: "evidence-missing", Error: "no evidence", Problem: "no notes"}
			}))
			expect(second, test.pending, "waits (evidence-missing): no evidence: no notes")
			r.Offer(accepted(first, func(r *report.Report) {
				converged(r)
				r.Source.Refused = &report.Refused{Commit: second, Reason: "unsigned", Error: strings.Repeat("no signature ", 40)}
			}))
			expect(second, test.refused, "refused (unsigned): no signature")
			if len(got) != 0 {
				t.Errorf("got %d further requests, want none for what was sent", len(got))
			}
		})
	}
}

// An order of the commit that has no effect is the first thing that its status says.
func TestOrderWithoutEffect(t *testing.T) {
	t.Parallel()
	api, got := forgeServer(t, "Authorization")
	r, _ := start(t, commitstatus.Forge{Kind: forge.GitHub, API: api, Repository: "example/homelab"})
	r.Offer(accepted(first, func(r *report.Report) {
		converged(r)
		r.Orders = []report.Order{{Commit: second, State: journal.OrderRefused, Why: "another"}, {Commit: first, State: journal.OrderSeen, Unmatched: true, Why: "no held step"}}
	}))
	if q := next(t, got); q.Body["state"] != "success" || q.Body["description"] != "order without effect: no held step; every guest was in sync" {
		t.Errorf("got %v, want the order before the state of the guests", q.Body)
	}
}

// A revision that is replaced does not stay pending.
func TestReplacedRevision(t *testing.T) {
	t.Parallel()
	api, got := forgeServer(t, "Authorization")
	r, _ := start(t, commitstatus.Forge{Kind: forge.GitHub, API: api, Repository: "example/homelab"})
	r.Offer(accepted(first, nil))
	next(t, got)
	r.Offer(accepted(second, converged))
	states := map[string]string{}
	for range 2 {
		q := next(t, got)
		states[q.Path[len(q.Path)-40:]] = q.Body["state"]
	}
	if diff := cmp.Diff(map[string]string{first: "error", second: "success"}, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// A forge that fails is asked again, and then gets only the newest state.
func TestRetriesSendTheNewestState(t *testing.T) {
	t.Parallel()
	api, got := forgeServer(t, "Authorization", http.StatusBadGateway)
	r, results := start(t, commitstatus.Forge{Kind: forge.Gitea, API: api, Repository: "example/homelab"})
	r.Offer(accepted(first, nil))
	next(t, got)
	r.Offer(accepted(first, held))
	r.Offer(accepted(first, converged))
	if q := next(t, got); q.Body["state"] != "success" {
		t.Errorf("got %v after the retry, want the newest state", q.Body)
	}
	if a, b := <-results, <-results; a != commitstatus.Retried || b != commitstatus.Sent || len(got) != 0 {
		t.Errorf("got results %s and %s and %d more requests, want one retry", a, b, len(got))
	}
}

// A status that the forge refuses is not repeated, and a redirect does not get the token.
func TestRefusalIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusUnauthorized, http.StatusFound} {
		api, got := forgeServer(t, "Authorization", code)
		r, results := start(t, commitstatus.Forge{Kind: forge.GitHub, API: api, Repository: "example/homelab"})
		r.Offer(accepted(first, nil))
		if result := <-results; result != commitstatus.Failed {
			t.Errorf("%d: got %s, want failed", code, result)
		}
		r.Offer(accepted(first, nil))
		r.Offer(accepted(first, converged))
		if next(t, got); next(t, got).Body["state"] != "success" || len(got) != 0 {
			t.Errorf("%d: got a repetition, want only the next state", code)
		}
	}
}

// GitLab refuses the state that a commit already has, as after a restart of the agent, and does not wait for long while it works on another status of the commit.
func TestGitLabRefusesARepeatedState(t *testing.T) {
	t.Parallel()
	api, got := forgeServer(t, "Private-Token", http.StatusBadRequest, http.StatusConflict)
	r, results := start(t, commitstatus.Forge{Kind: forge.GitLab, API: api, Repository: "example/homelab"})
	r.Offer(accepted(first, nil))
	if next(t, got); <-results != commitstatus.Sent {
		t.Error("got a failure for running again, want none")
	}
	r.Offer(accepted(first, converged))
	next(t, got)
	if q := next(t, got); q.Body["state"] != "success" {
		t.Errorf("got %v, want another attempt", q.Body)
	}
	if a, b := <-results, <-results; a != commitstatus.Retried || b != commitstatus.Sent {
		t.Errorf("got results %s and %s, want a retry", a, b)
	}
}

// The engine does not wait for a reporter that does nothing.
func TestOfferDoesNotWait(t *testing.T) {
	t.Parallel()
	r := commitstatus.New(commitstatus.Forge{}, nil, nil)
	for range 1000 {
		r.Offer(accepted(first, nil))
	}
}

func TestDerive(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind                    forge.Kind
		remote, api, repository string
	}{
		{forge.GitHub, "https://github.com/example/homelab.git", "https://api.github.com", "example/homelab"},
		{forge.GitHub, "git@github.com:example/homelab.git", "https://api.github.com", "example/homelab"},
		{forge.GitHub, "ssh://git@ghe.example.org:2222/example/homelab", "https://ghe.example.org/api/v3", "example/homelab"},
		{forge.GitHub, "ssh://git@ssh.github.com:443/example/homelab.git", "https://api.github.com", "example/homelab"},
		{forge.GitLab, "gitlab.com:example/homelab.git", "https://gitlab.com/api/v4", "example/homelab"},
		{forge.GitLab, "https://gitlab.com/example/group/homelab.git", "https://gitlab.com/api/v4", "example/group/homelab"},
		{forge.Gitea, "http://forge.test:3000/example/homelab/", "http://forge.test:3000/api/v1", "example/homelab"},
		{forge.Gitea, "file:///srv/git/homelab.git", "", ""},
		{forge.Gitea, "https://forge.test/homelab", "", ""},
	} {
		api, repository, found := commitstatus.Derive(test.kind, test.remote)
		if found != (test.api != "") || found && (api != test.api || repository != test.repository) {
			t.Errorf("%s: got %q, %q, %t, want %q, %q", test.remote, api, repository, found, test.api, test.repository)
		}
	}
}

func TestCheckReadsTheToken(t *testing.T) {
	t.Parallel()
	f := commitstatus.Forge{Kind: forge.GitHub, API: "https://api.github.com", Token: func() (string, error) { return "", errors.New("no such file") }}
	if err := f.Check(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v, want the error of the file", err)
	}
	f.API, f.Token = "https://user:S3cret@host", func() (string, error) { return "S3cret", nil }
	if err := f.Check(); err == nil || strings.Contains(err.Error(), "S3cret") {
		t.Errorf("got %v, want an error without the secret", err)
	}
}
