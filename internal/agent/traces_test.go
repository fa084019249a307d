package agent_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/agent"
	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/internal/traces/collectortest"
	"gitops-agent/metrics"
	"gitops-agent/reconcile/report"
)

// collectorToken is a secret in the headers for the collector.
const collectorToken = "S3cretOfTheCollector"

// trace starts a collector that the agent of the config uses.
func (h *home) trace() *collectortest.Collector {
	h.Helper()
	c := collectortest.New(h)
	headers := filepath.Join(h.TempDir(), "headers")
	h.write(headers, "Authorization: Bearer "+collectorToken+"\n")
	h.config.Traces = agent.TracesConfig{Endpoint: c.URL(), HeadersFile: headers}
	h.ok(h.config.Check())
	return c
}

// run runs an agent until the returned function is called.
func (h *home) run(log io.Writer) (a *agent.Agent, stop func()) {
	h.Helper()
	a, err := agent.New(h.Context(), agent.Options{
		Config: h.config, ClaimWait: claimWait, Build: metrics.Build{Version: "v1.2.3"}, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	h.ok(err)
	ctx, cancel := context.WithCancel(h.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return a, func() {
		h.Helper()
		cancel()
		h.ok(<-ended)
		h.ok(a.Close())
	}
}

// pushRunning pushes a container that the agent creates and starts.
func (h *home) pushRunning() (commit string) {
	h.Helper()
	h.repo.Files = map[string]string{"cluster.yaml": clusterYAML, "dns.yaml": dnsYAML + "  state: running\n"}
	return h.repo.Push(h.sig, alice, "a container that runs")
}

func convergedOn(commit string) func(report.Document) bool {
	return func(d report.Document) bool { return d.Converged && d.Source.Accepted.Commit == commit }
}

// ended reports whether the root of the trace of a commit has arrived.
func ended(commit, result string) func([]collectortest.Span) bool {
	return func(spans []collectortest.Span) bool {
		return slices.ContainsFunc(spans, func(s collectortest.Span) bool {
			return s.Name == "revision" && s.Attributes["vcs.ref.head.revision"] == commit && s.Attributes["gitops_agent.result"] == result
		})
	}
}

// traceOf returns the spans of a trace by id, and its root. It fails the test for a span without a parent in the trace, or outside its parent's time.
func (h *home) traceOf(spans []collectortest.Span, commit string) (root collectortest.Span, byID map[string]collectortest.Span) {
	h.Helper()
	i := slices.IndexFunc(spans, func(s collectortest.Span) bool { return s.Attributes["vcs.ref.head.revision"] == commit })
	if i < 0 {
		h.Fatalf("got no root of %s in %+v", commit, spans)
	}
	root, byID = spans[i], map[string]collectortest.Span{}
	for _, s := range spans {
		if s.Trace == root.Trace {
			byID[s.ID] = s
		}
	}
	for _, s := range byID {
		parent, found := byID[s.Parent]
		switch {
		case s.ID == root.ID && s.Parent == "":
		case !found:
			h.Errorf("got %s without its parent in the trace, want every span below the root", s.Name)
		case s.Begun.After(s.End):
			h.Errorf("got %s from %s to %s, want an end after the begin", s.Name, s.Begun, s.End)
		case s.Parent == root.ID && root.Attributes["gitops_agent.resumed"] == true: // it begins with the acceptance, the fetch is older
		case s.Begun.Before(parent.Begun) || s.End.After(parent.End):
			h.Errorf("got %s from %s to %s, want it within %s, from %s to %s", s.Name, s.Begun, s.End, parent.Name, parent.Begun, parent.End)
		}
	}
	return root, byID
}

// A commit has one trace from the poll that saw it first until its guests are in sync. Log lines and exemplars name it.
func TestTraceOfARevision(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	commit := h.pushRunning()
	collector, log := h.trace(), &book{}
	a, stop := h.run(log)
	root, byID := h.traceOf(collector.Until("converged revision", ended(commit, "converged")), commit)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.Address()+"/metrics", http.NoBody)
	h.ok(err)
	request.Header.Set("Accept", "application/openmetrics-text")
	reply, err := http.DefaultClient.Do(request)
	h.ok(err)
	metrics, err := io.ReadAll(reply.Body)
	h.ok(err)
	h.ok(reply.Body.Close())
	stop()

	paths := map[string]collectortest.Span{}
	for _, s := range byID {
		path := s.Name
		for p := s; p.Parent != ""; {
			p = byID[p.Parent]
			path = p.Name + " > " + path
		}
		paths[path] = s
	}
	for _, want := range []string{
		"revision > fetch", "revision > verify", "revision > accept", "revision > plan", "revision > step create",
		"revision > step create > POST /nodes/{node}/{kind}", "revision > step create > wait for task", "revision > step start > POST /nodes/{node}/{kind}/{vmid}/status/start",
	} {
		if _, found := paths[want]; !found {
			t.Errorf("got no span %q", want)
		}
	}
	if t.Failed() {
		for path := range paths {
			t.Log(path)
		}
		t.FailNow()
	}
	create := paths["revision > step create"]
	if create.Attributes["gitops_agent.vmid"] != int64(210) || create.Attributes["gitops_agent.guest"] != "Container/dns-1" || create.Attributes["gitops_agent.result"] != "done" {
		t.Errorf("got %v of the step, want its guest and its result", create.Attributes)
	}
	if wait := paths["revision > step create > wait for task"]; !strings.HasPrefix(wait.Attributes["proxmox.upid"].(string), "UPID:pve1:") {
		t.Errorf("got %v of the task, want its UPID", wait.Attributes)
	}
	if root.Resource["service.version"] != "v1.2.3" || root.Resource["gitops_agent.cluster"] != "home" {
		t.Errorf("got resource %v, want the agent and its cluster", root.Resource)
	}
	for what, ids := range map[string]string{
		"revision.converged": " trace_id=" + root.Trace + " span_id=" + root.ID + "\n", "step.begun": " trace_id=" + root.Trace + " span_id=" + create.ID + "\n",
	} {
		if !slices.ContainsFunc(slices.Collect(strings.Lines(log.String())), func(line string) bool { return strings.Contains(line, "event="+what) && strings.HasSuffix(line, ids) }) {
			t.Errorf("got no line with event=%s and%s in\n%s", what, ids, log)
		}
	}
	for metric, labels := range map[string]string{
		"gitops_agent_convergence_seconds_bucket": `trace_id="` + root.Trace + `"`, `gitops_agent_step_duration_seconds_bucket{op="create"`: `span_id="` + create.ID + `"`,
	} {
		if !slices.ContainsFunc(strings.Split(string(metrics), "\n"), func(line string) bool {
			sample, exemplar, _ := strings.Cut(line, " # ")
			return strings.HasPrefix(sample, metric) && strings.Contains(exemplar, labels)
		}) {
			t.Errorf("got no exemplar of %s with %s in\n%s", metric, labels, metrics)
		}
	}
	if !strings.Contains(string(metrics), `gitops_agent_trace_spans_total{result="exported"}`) {
		t.Error("got no count of spans, want one")
	}
}

// The trace of a refused commit has the status error, and the code of the reason.
func TestTraceOfARefusedRevision(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first := h.push("a container")
	collector, log := h.trace(), &book{}
	a, stop := h.run(log)
	defer stop()
	h.until(a, "convergence", convergedOn(first))
	refused := h.repo.Push(h.sig, sigtest.Identity{Subject: "bob@example.org", Issuer: alice.Issuer}, "the same by bob")
	a.Hint()
	root, byID := h.traceOf(collector.Until("refused revision", ended(refused, "refused")), refused)
	if root.Attributes["gitops_agent.reason"] != "wrong-identity" || !root.Failed || !strings.HasPrefix(root.Problem, "wrong-identity: ") {
		t.Errorf("got %+v, want the status error with the reason", root)
	}
	failed := map[string]bool{}
	for _, s := range byID {
		failed[s.Name] = s.Failed
	}
	if !failed["verify"] || failed["fetch"] || len(failed) != 3 {
		t.Errorf("got %v as the spans that failed, want verify and the root of three", failed)
	}
	if !strings.Contains(log.String(), "trace_id="+root.Trace+" span_id="+root.ID) {
		t.Errorf("got no line with the ids of the refusal in\n%s", log)
	}
}

// A guest that a person edits later has a trace that names the revision. A step that waits has a span in the trace of the commit that made it wait.
func TestTracesOfARepairAndOfAHold(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first := h.push("a container")
	collector := h.trace()
	a, stop := h.run(io.Discard)
	defer stop()
	collector.Until("converged revision", ended(first, "converged"))
	h.ok(h.sim.Edit(210, "memory", "1024"))
	spans := collector.Until("repair", func(spans []collectortest.Span) bool { return len(collectortest.Find(spans, "repair")) > 0 })
	revision, repair := collectortest.Find(spans, "revision")[0], collectortest.Find(spans, "repair")[0]
	if !slices.Equal(repair.Links, []string{revision.Trace}) || repair.Trace == revision.Trace || repair.Attributes["gitops_agent.result"] != "repaired" ||
		!slices.Equal(repair.Attributes["gitops_agent.keys"].([]string), []string{"memory"}) {
		t.Errorf("got %+v, want a repair of the memory that links to the trace of the revision", repair)
	}
	if !slices.ContainsFunc(collectortest.Find(spans, "step config"), func(s collectortest.Span) bool { return s.Parent == repair.ID }) {
		t.Errorf("got no step below the repair in %+v", spans)
	}

	h.repo.Files = map[string]string{"cluster.yaml": clusterYAML}
	removed := h.repo.Push(h.sig, alice, "no container")
	a.Hint()
	h.until(a, "the held destroy", func(d report.Document) bool { return len(d.Guests) == 1 && len(d.Guests[0].Held) > 0 })
	restored := h.push("the container again")
	a.Hint()
	h.until(a, "the restored manifest", convergedOn(restored))
	root, byID := h.traceOf(collector.Until("superseded revision", ended(removed, "superseded")), removed)
	found := false
	for _, s := range byID {
		if s.Name == "hold" {
			found = s.Parent == root.ID && s.Attributes["gitops_agent.op"] == "destroy" && s.Attributes["gitops_agent.result"] == "superseded"
		}
	}
	if !found {
		t.Errorf("got %+v, want the destroy that was held until the next commit", byID)
	}
}

// An agent that ends while a guest is not in sync leaves a trace that the next one continues and ends.
func TestTraceGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	commit := h.pushRunning()
	collector := h.trace()
	h.ok(h.sim.Inject(pvesim.Fault{Method: "POST", Path: "/lxc/210/status/start$", Kind: pvesim.TaskFails, Text: "no bridge", Times: -1}))
	_, stop := h.run(&book{})
	failed := func(spans []collectortest.Span) bool {
		return slices.ContainsFunc(collectortest.Find(spans, "step start"), func(s collectortest.Span) bool { return s.Failed })
	}
	collector.Until("step that failed", failed)
	stop()
	h.sim.ClearFaults()
	_, stop = h.run(&book{})
	defer stop()
	root, byID := h.traceOf(collector.Until("converged revision", ended(commit, "converged")), commit)
	if root.Attributes["gitops_agent.resumed"] != true {
		t.Errorf("got %v, want the root of a resumed revision", root.Attributes)
	}
	processes := map[any][]string{}
	for _, s := range byID {
		process := s.Resource["service.instance.id"]
		processes[process] = append(processes[process], s.Name)
	}
	own := processes[root.Resource["service.instance.id"]]
	delete(processes, root.Resource["service.instance.id"])
	if len(processes) != 1 || !slices.Contains(own, "step start") {
		t.Fatalf("got spans of %d other processes, and %q of the second, want the step that starts the guest in the second", len(processes), own)
	}
	for _, names := range processes {
		if !slices.Contains(names, "step create") || !slices.Contains(names, "verify") {
			t.Errorf("got %q of the first process, want the step that creates the guest", names)
		}
	}
}

// A reload turns traces on, and off again.
func TestReloadOfTraces(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first, log := h.push("a container"), &book{}
	without := h.config
	collector := h.trace()
	with := h.config
	h.config = without
	a, stop := h.run(log)
	defer stop()
	h.until(a, "convergence", convergedOn(first))
	if strings.Contains(log.String(), "trace_id") {
		t.Errorf("got the id of a trace in a line, want none while traces are off:\n%s", log)
	}
	h.ok(a.Reload(t.Context(), read(with, nil)))
	second := h.push("the same again")
	a.Hint()
	collector.Until("converged revision", ended(second, "converged"))
	h.ok(a.Reload(t.Context(), read(without, nil)))
	count := len(collector.Spans())
	third := h.push("once more")
	a.Hint()
	h.until(a, "the third revision", convergedOn(third))
	if spans := collector.Spans(); len(spans) != count || ended(first, "converged")(spans) {
		t.Errorf("got %d spans, want the %d of the second revision", len(spans), count)
	}
	if !strings.Contains(log.String(), "changed=\"traces.endpoint traces.headers_file\"") {
		t.Errorf("got no line with the changed fields in\n%s", log)
	}
}

// The only cycle of a run --once has a trace too, which is sent before the command ends.
func TestTraceOfOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	commit := h.push("a container")
	collector := h.trace()
	a, err := h.open()
	h.ok(err)
	_, err = a.Once(t.Context())
	h.ok(errors.Join(err, a.Close()))
	h.traceOf(collector.Spans(), commit)
}

// A collector that does not answer changes nothing for the guests.
func TestCollectorThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	commit := h.push("a container")
	collector, log := h.trace(), &book{}
	collector.Hang()
	a, stop := h.run(log)
	h.until(a, "convergence", convergedOn(commit))
	stop()
	if got := collector.Spans(); len(got) != 0 {
		t.Errorf("got %d spans, want none", len(got))
	}
	if !strings.Contains(log.String(), "traces not exported") || strings.Contains(log.String(), collectorToken) {
		t.Errorf("got the log\n%s\nwant a line that spans are lost, without the token", log)
	}
}

func TestTraceProblems(t *testing.T) {
	t.Parallel()
	const endpointProblem = "traces.endpoint: want the address of a collector, such as https://host:4318, without user and query"
	for text, want := range map[string]string{
		"traces: {headers_file: /x}":                                endpointProblem,
		`traces: {endpoint: "tempo.test:4318"}`:                     endpointProblem,
		`traces: {endpoint: "https://user:S3cret@tempo.test"}`:      endpointProblem,
		`traces: {endpoint: "https://tempo.test", timeout: -1s}`:    `got "-1s"`,
		`traces: {endpoint: "https://tempo.test", headers: {a: b}}`: "headers",
	} {
		_, err := agent.ParseConfig([]byte(smallest + text + "\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "S3cret") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	h := newHome(t)
	headers := filepath.Join(t.TempDir(), "headers")
	h.config.Traces = agent.TracesConfig{Endpoint: "https://tempo.test", HeadersFile: headers}
	for _, test := range []struct{ content, want string }{
		{"", "traces.headers_file"}, {collectorToken, "traces: line 1: want a header"}, {"Authorization: " + collectorToken, ""},
	} {
		h.write(headers, test.content)
		if err := h.config.Check(); (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), collectorToken)) {
			t.Errorf("%q: got %v, want %q", test.content, err, test.want)
		}
	}
	h.config.Traces.Endpoint = "http://tempo.test"
	if err := h.config.Check(); err == nil || !strings.Contains(err.Error(), "traces: http would send the headers unencrypted: use https") {
		t.Errorf("got %v, want the headers refused", err)
	}
}
