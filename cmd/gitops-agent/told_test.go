//go:build integration

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
	"gitops-agent/internal/traces/collectortest"
)

// told is what a service outside got from the agent.
type told struct {
	path, text string
	at         time.Time
}

// service is a chat or a forge that notes what it gets.
func service(t testing.TB, status int, key string) (address string, got <-chan told) {
	t.Helper()
	calls := make(chan told, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		body := map[string]any{}
		_ = json.Unmarshal(data, &body)
		text, _ := body[key].(string)
		w.WriteHeader(status)
		calls <- told{r.URL.Path, text, time.Now()}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), calls
}

// await returns the first call that satisfies a condition.
func (s *site) await(what string, got <-chan told, holds func(told) bool) told {
	s.Helper()
	for limit := time.After(patience); ; {
		select {
		case call := <-got:
			if holds(call) {
				return call
			}
		case <-limit:
			s.Fatalf("got no %s within %s; the agent's log:\n%s", what, patience, s.read("log"))
		}
	}
}

// configure changes a line of the config, and adds others.
func (s *site) configure(old, line, more string) {
	s.Helper()
	config := s.read("config.yaml")
	if !strings.Contains(config, old) {
		s.Fatalf("got no %q in the config", old)
	}
	s.ok(os.WriteFile(s.path("config.yaml"), []byte(strings.Replace(config, old, line, 1)+"\n"+more), 0o600))
}

// A push that is refused reaches a chat, the forge and a collector. The agent polls once an hour, so the webhook of the push causes all three. With the defaults,
// a message waits two seconds for others, and a batch of spans one.
func TestRefusedPushIsTold(t *testing.T) {
	s := newSite(t, buildBinaries(t))
	collector := collectortest.New(t)
	chat, messages := service(t, http.StatusOK, "text")
	forge, statuses := service(t, http.StatusCreated, "state")
	s.ok(os.WriteFile(s.path("chat"), []byte("mattermost://gitops-agent@"+chat+"/token?disabletls=yes\n"), 0o600))
	s.configure("poll: 300ms", "poll: 1h", `
notifications:
  receivers: [{name: chat, type: shoutrrr, url_file: `+s.path("chat")+`}]
  routes: [{receiver: chat}]
commit_status: {forge: gitea, api: "http://`+forge+`/api/v1", repository: lab/home, token_file: `+s.path("webhook")+`}
traces: {endpoint: "`+collector.URL()+`"}
`)
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.repo.Files["vm.yaml"] = blankVM("vm", 201, "")
	s.repo.Push(s.sig, killer, "a guest")
	s.run()
	s.converged()

	s.repo.Files["vm.yaml"] = blankVM("vm", 201, "  memory: {size: 1Gi}\n")
	refused := s.repo.Push(s.sig, sigtest.Identity{Subject: "mallory@lab.test", Issuer: killer.Issuer}, "more memory")
	pushed := time.Now()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+"/webhook", http.NoBody)
	s.ok(err)
	request.Header.Set("Authorization", "Bearer "+s.read("webhook"))
	reply, err := http.DefaultClient.Do(request)
	s.ok(err)
	s.ok(reply.Body.Close())

	status := s.await("status of the refused commit", statuses, func(c told) bool { return strings.HasSuffix(c.path, "/statuses/"+refused) })
	if status.text != "failure" || status.path != "/api/v1/repos/lab/home/statuses/"+refused {
		t.Errorf("got the status %+v, want failure", status)
	}
	root := func(spans []collectortest.Span) int {
		return slices.IndexFunc(spans, func(span collectortest.Span) bool { return span.Attributes["vcs.ref.head.revision"] == refused })
	}
	spans := collector.Until("trace of the refused commit", func(spans []collectortest.Span) bool { return root(spans) >= 0 })
	trace := spans[root(spans)]
	if !trace.Failed || trace.Attributes["gitops_agent.reason"] != "wrong-identity" || trace.Parent != "" {
		t.Errorf("got the root %+v, want the status error with the reason", trace)
	}
	message := s.await("message about the refused commit", messages, func(c told) bool { return strings.Contains(c.text, refused[:12]) })
	if message.path != "/hooks/token" || !strings.Contains(message.text, "Commit "+refused[:12]+" was refused (wrong-identity)") {
		t.Errorf("got the message %+v, want the commit and the reason", message)
	}
	if got := s.effects(201, "config-written"); got != 0 {
		t.Errorf("got %d writes, want none", got)
	}
	t.Logf("after the webhook: commit status %s, trace %s, chat %s", status.at.Sub(pushed).Round(time.Millisecond), trace.Arrived.Sub(pushed).Round(time.Millisecond),
		message.at.Sub(pushed).Round(time.Millisecond))
	s.signal(syscall.SIGTERM)
	s.ok(s.agent.Wait())
}

// A process that is killed while Proxmox executes its call leaves a trace that the next process continues: it settles the step, and sends the root.
func TestTraceOfAKilledAgent(t *testing.T) {
	s := newSite(t, buildBinaries(t))
	collector := collectortest.New(t)
	s.configure("poll: 300ms", "poll: 300ms", `traces: {endpoint: "`+collector.URL()+`"}`+"\n")
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.repo.Files["vm.yaml"] = blankVM("vm", 201, "")
	s.repo.Push(s.sig, killer, "a guest")
	s.run()
	s.converged()
	s.post("/faults", map[string]any{"kind": "hold-after", "method": "POST", "path": "/config$", "times": 1})
	s.repo.Files["vm.yaml"] = blankVM("vm", 201, "  memory: {size: 1Gi}\n")
	commit := s.repo.Push(s.sig, killer, "more memory")
	s.get("/held?n=1&timeout=60s", nil)
	accepted := func(spans []collectortest.Span) bool { return len(collectortest.Find(spans, "accept")) == 2 }
	before := collectortest.Find(collector.Until("acceptance", accepted), "accept")[1]
	s.signal(syscall.SIGKILL)
	s.post("/release", nil)
	s.run()
	s.converged()
	isRoot := func(span collectortest.Span) bool {
		return span.Attributes["vcs.ref.head.revision"] == commit && span.Attributes["gitops_agent.resumed"] == true
	}
	spans := collector.Until("root", func(spans []collectortest.Span) bool { return slices.ContainsFunc(spans, isRoot) })
	root := spans[slices.IndexFunc(spans, isRoot)]
	steps := slices.DeleteFunc(collectortest.Find(spans, "step config"), func(span collectortest.Span) bool { return span.Trace != root.Trace })
	if before.Trace != root.Trace || before.Parent != root.ID || before.Resource["service.instance.id"] == root.Resource["service.instance.id"] {
		t.Errorf("got %+v before the kill and the root %+v, want one trace of two processes", before, root)
	}
	if len(steps) != 1 || steps[0].Parent != root.ID || steps[0].Attributes["gitops_agent.resumed"] != true || steps[0].Attributes["gitops_agent.result"] != "unknown" {
		t.Errorf("got the steps %+v, want the one that the first process began and the second settled without its reply", steps)
	}
	if got := s.effects(201, "config-written"); got != 1 {
		t.Errorf("got %d writes, want 1", got)
	}
}
