package reconcile_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/internal/fulldisk"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/writer"
	"gitops-agent/verify"
)

// logged is a log line with an event.
type logged struct {
	name  event.Name
	level slog.Level
	attrs map[string]string
}

// eventLog is a slog.Handler that keeps the lines with an event, and the messages of the others.
type eventLog struct {
	mu     sync.Mutex
	lines  []logged
	others []string // the messages of the other lines
}

func (h *eventLog) Enabled(context.Context, slog.Level) bool { return true }
func (h *eventLog) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *eventLog) WithGroup(string) slog.Handler            { return h }

func (h *eventLog) Handle(_ context.Context, r slog.Record) error {
	line := logged{level: r.Level, attrs: map[string]string{}}
	r.Attrs(func(a slog.Attr) bool {
		line.attrs[a.Key] = a.Value.String()
		return true
	})
	if line.name = event.Name(line.attrs[event.Key]); line.name != "" {
		delete(line.attrs, event.Key)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.lines = append(h.lines, line)
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.others = append(h.others, r.Message)
	return nil
}

// count returns how often a line without an event has a message.
func (h *eventLog) count(message string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(h.others), func(other string) bool { return other != message }))
}

// of returns the lines of an event.
func (h *eventLog) of(name event.Name) []logged {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.lines), func(l logged) bool { return l.name != name })
}

// documented is a row of docs/events.md.
type documented struct {
	levels             string
	required, optional map[string]bool
}

func documentedEvents(t *testing.T) map[event.Name]documented {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[event.Name]documented{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z.]+)` \\|([^|]*)\\|[^|]*\\|[^|]*\\|([^|]*)\\|$").FindAllStringSubmatch(string(page), -1) {
		row := documented{levels: m[2], required: map[string]bool{}, optional: map[string]bool{}}
		for _, a := range regexp.MustCompile("`([a-z_]+)(\\??)`").FindAllStringSubmatch(m[3], -1) {
			if a[2] == "" {
				row.required[a[1]] = true
			} else {
				row.optional[a[1]] = true
			}
		}
		rows[event.Name(m[1])] = row
	}
	return rows
}

// requireAsDocumented fails unless a line has the level and the attributes of its row.
func (d documented) requireAsDocumented(t *testing.T, l logged) {
	t.Helper()
	if l.level != slog.LevelInfo && !strings.Contains(d.levels, l.level.String()) || l.level == slog.LevelInfo && strings.TrimSpace(d.levels) != "" && !strings.Contains(d.levels, "unless") {
		t.Errorf("%s: got level %s, want %q", l.name, l.level, d.levels)
	}
	for key := range l.attrs {
		if !d.required[key] && !d.optional[key] {
			t.Errorf("%s: got attribute %s, want it in docs/events.md", l.name, key)
		}
	}
	for key := range d.required {
		if _, has := l.attrs[key]; !has {
			t.Errorf("%s: got no attribute %s, want it as docs/events.md says", l.name, key)
		}
	}
}

// TestEventsAreDocumentedAndHappen compares the events with docs/events.md, and makes each of them happen.
func TestEventsAreDocumentedAndHappen(t *testing.T) {
	t.Parallel()
	rows := documentedEvents(t)
	for _, name := range event.Names() {
		if _, found := rows[name]; !found {
			t.Errorf("got no row for %s in docs/events.md, want one", name)
		}
	}
	if got, want := slices.Sorted(maps.Keys(rows)), slices.Sorted(slices.Values(event.Names())); !slices.Equal(got, want) {
		t.Errorf("docs/events.md: got rows %v, want %v", got, want)
	}
	var lines []logged
	for name, life := range map[string]func(t *testing.T, l *lab, log *eventLog){
		"approvals": lifeOfApprovals, "orders": lifeOfOrders, "drift": lifeOfDrift, "guards": lifeOfGuards, "doubt": lifeOfDoubt, "crash": lifeOfCrash, "loss": lifeOfLoss,
		"pause": lifeOfPause, "expiry": lifeOfExpiry, "retry": lifeOfRetry, "trouble": lifeOfTrouble, "hanging_task": lifeOfHangingTask,
		"rollouts": lifeOfRollouts, "placement": lifeOfPlacement, "clocks": lifeOfClocks, "root": lifeOfRoot, "disk": lifeOfDisk, "store": lifeOfStore, "targets": lifeOfTargets, "silence": lifeOfSilence, "ha": lifeOfHA,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, log := newLab(t, newSim(t, pvesim.Options{})), &eventLog{}
				l.opts.Logger = slog.New(log)
				l.files["cluster.yaml"] = clusterYAML
				life(t, l, log)
				lines = append(lines, log.lines...)
			})
		})
	}
	others := []event.Name{event.ConfigReloaded, event.ConfigRefused} // a test of package agent makes these happen
	for _, name := range event.Names() {
		if !slices.Contains(others, name) && !slices.ContainsFunc(lines, func(l logged) bool { return l.name == name }) {
			t.Errorf("got no line of %s, want one", name)
		}
	}
	for _, line := range lines {
		rows[line.name].requireAsDocumented(t, line)
	}
}

// lifeOfApprovals destroys a guest with the second of two approvals. The first one is by a signer without the role.
func lifeOfApprovals(t *testing.T, l *lab, log *eventLog) {
	defaultPoll(&l.opts)
	defer l.start()()
	digest := l.holdDestroy("1")
	time.Sleep(10 * time.Minute)
	held := slices.DeleteFunc(log.of(event.StepHeld), func(line logged) bool { return line.attrs["digest"] != digest })
	if len(held) != 1 || held[0].attrs["guest"] != "VirtualMachine/web-1" || held[0].attrs["reason"] != string(reason.Approval) {
		t.Errorf("got holds %v in ten minutes, want one", held)
	}
	l.push("Approve\n\nGitops-Approve: "+digest+"\n", alice)
	time.Sleep(time.Minute)
	if refused := log.of(event.OrderRefused); len(refused) != 1 || !strings.Contains(refused[0].attrs["why"], "approve") {
		t.Errorf("got refused orders %v, want one that names the role", refused)
	}
	if got := log.of(event.OrderExecuted); len(got) != 0 {
		t.Errorf("got orders executed %v, want none yet", got)
	}
	l.approve(digest)
	eventually(l, "the destroy", func() bool { return l.destroyed(201) })
	l.converge()
	time.Sleep(10 * time.Minute)
	if got := log.of(event.OrderExecuted); len(got) != 1 || got[0].attrs["step"] == "" {
		t.Errorf("got orders executed %v, want one with its step", got)
	}
	if got := log.of(event.GuestDestroyed); len(got) != 1 || got[0].attrs["vmid"] != "201" {
		t.Errorf("got destroyed guests %v, want 201 once", got)
	}
	l.repo.PushOnline(l.sig, alice, "without evidence", sigtest.SignOptions{})
	time.Sleep(20 * time.Minute)
	if got := log.of(event.RevisionWaiting); len(got) != 1 || got[0].attrs["reason"] != "evidence-missing" {
		t.Errorf("got waits %v in twenty minutes, want one", got)
	}
	l.repo.SetMain(l.engine.Report().Source.Accepted.Commit)
	l.repo.Tip = l.engine.Report().Source.Accepted.Commit
	eventually(l, "the end of the wait", func() bool { return len(log.of(event.RevisionWithdrawn)) == 1 })
	l.files["bad.yaml"] = "kind: Nothing\n"
	l.push("not a manifest", alice)
	time.Sleep(20 * time.Minute)
	if got := log.of(event.RevisionRefused); len(got) != 1 {
		t.Errorf("got refusals %v in twenty minutes, want one", got)
	}
	refusals := 0
	_, err := journal.Read(filepath.Join(l.state, "journal"), func(r journal.Record) error {
		e, ok := r.Body.(journal.Event)
		if !ok || e.Name != "revision-refused" {
			return nil
		}
		refusals++
		if e.Message != report.RefusedManifests || !strings.Contains(e.Detail, "bad.yaml") || e.Hint == "" {
			t.Errorf("got %+v in the journal, want the reason, what is wrong with bad.yaml, and the remedy", e)
		}
		return nil
	})
	l.ok(err)
	if refusals != 1 {
		t.Errorf("got %d refusals in the journal, want 1", refusals)
	}
}

// lifeOfOrders executes an order, refuses one, and makes the task of another one fail.
func lifeOfOrders(t *testing.T, l *lab, log *eventLog) {
	l.trustOtto()
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	l.order("start" + web1)
	eventually(l, "the start", func() bool { return len(log.of(event.OrderExecuted)) == 1 })
	l.order("dance" + web1)
	eventually(l, "the refusal", func() bool { return len(log.of(event.OrderRefused)) == 1 })
	l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/status/shutdown$", Kind: pvesim.TaskFails, Text: "no answer"}))
	l.order("shutdown" + web1)
	eventually(l, "the failure", func() bool { return len(log.of(event.OrderFailed)) == 1 })
	time.Sleep(10 * time.Minute)
	if got := log.of(event.OrderFailed); len(got) != 1 || !strings.Contains(got[0].attrs["task_log"], "no answer") || got[0].attrs["guest"] != "VirtualMachine/web-1" {
		t.Errorf("got %v, want one failure with the last lines of its task", got)
	}
	if got := log.of(event.OrderExecuted); len(got) != 1 || got[0].attrs["upid"] == "" {
		t.Errorf("got %v, want one execution with its task", got)
	}
}

// lifeOfDrift changes a guest by hand, and makes its repair fail for a while. Then it changes it so that a step is held, and changes it back.
func lifeOfDrift(t *testing.T, l *lab, log *eventLog) {
	l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "description: serves the web", "networks: {net0: {bridge: vmbr0}}")
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.ErrorText, Text: "not today", Times: 2}))
	l.ok(l.sim.Edit(201, "description", "by hand"))
	eventually(l, "the failure", func() bool { return len(log.of(event.GuestFailed)) > 0 })
	l.converge()
	if begun, ended := log.of(event.GuestFailed), log.of(event.GuestSucceeded); len(begun) != 1 || len(ended) != 1 || ended[0].attrs["op"] != begun[0].attrs["op"] {
		t.Errorf("got failures %v and ends %v, want one of each", begun, ended)
	}
	bridge := l.sim.Value(201, "net0")
	l.ok(l.sim.Edit(201, "net0", strings.Replace(bridge, "vmbr0", "vmbr1", 1)))
	l.digestOfHold(201)
	l.ok(l.sim.Edit(201, "net0", bridge))
	l.converge()
	if got := log.of(event.StepWithdrawn); len(got) != 1 {
		t.Errorf("got withdrawn steps %v, want one", got)
	}
	time.Sleep(30 * time.Minute)
	drifted, repaired := log.of(event.GuestDrifted), log.of(event.GuestRepaired)
	byHand := func(line logged) bool { return line.attrs["vmid"] != "201" || line.attrs["cause"] != "cluster" }
	if d, r := slices.DeleteFunc(drifted, byHand), slices.DeleteFunc(repaired, byHand); len(d) != 2 || len(r) != 2 {
		t.Errorf("got drift %v and repairs %v, want two of each", d, r)
	}
}

// lifeOfGuards weakens a guard without approval, reverts that, and weakens it with one.
func lifeOfGuards(t *testing.T, l *lab, log *eventLog) {
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	weaker := vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
	l.files["web.yaml"] = weaker
	l.push("weaker", alice)
	eventually(l, "the held guard", func() bool { return len(log.of(event.GuardHeld)) == 1 })
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.push("as before", alice)
	eventually(l, "its end", func() bool { return len(log.of(event.GuardWithdrawn)) == 1 })
	l.files["web.yaml"] = weaker
	l.push("weaker", alice)
	eventually(l, "the held guard", func() bool { return len(log.of(event.GuardHeld)) == 2 })
	l.approve(log.of(event.GuardHeld)[1].attrs["digest"])
	eventually(l, "the weaker guard", func() bool { return len(log.of(event.GuardWeakened)) == 1 })
	time.Sleep(10 * time.Minute)
	if held, withdrawn := log.of(event.GuardHeld), log.of(event.GuardWithdrawn); len(held) != 2 || len(withdrawn) != 1 {
		t.Errorf("got held guards %v and withdrawn ones %v, want two and one", held, withdrawn)
	}
}

// lifeOfDoubt loses the reply to an approved call, and starts with a policy under which the revision does not verify.
func lifeOfDoubt(t *testing.T, l *lab, log *eventLog) {
	l.files["web.yaml"] = webOnBridge("vmbr0")
	l.push("one guest", alice)
	stop := l.start()
	l.converge()
	l.files["web.yaml"] = webOnBridge("vmbr1")
	l.push("another bridge", alice)
	digest := l.digestOfHold(201)
	l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.DropAfter}))
	l.approve(digest)
	eventually(l, "the doubt", func() bool { return len(log.of(event.OrderUnknown)) == 1 })
	stop()
	l.policy.Store(l.otherPolicy())
	stop = l.start()
	eventually(l, "the stop", func() bool { return len(log.of(event.RevisionUnverified)) == 1 })
	time.Sleep(time.Hour)
	if got := log.of(event.RevisionUnverified); len(got) != 1 {
		t.Errorf("got %d lines of a revision that does not verify in an hour, want one", len(got))
	}
	stop()
}

// lifeOfCrash kills the agent after a call to destroy a guest.
func lifeOfCrash(_ *testing.T, l *lab, _ *eventLog) {
	l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
	l.crashAndRecover(cluster.OpDestroy, "after-call", func(l *lab) {
		delete(l.files, "web.yaml")
		l.push("destroy", alice)
	})
}

// lifeOfLoss claims guests again whose records were lost.
func lifeOfLoss(_ *testing.T, l *lab, log *eventLog) {
	l.lostGuests()
	defer l.start()()
	l.approve(l.recoverable().Digest)
	eventually(l, "the claims", func() bool { return len(log.of(event.GuestRecovered)) == 3 })
}

// lifeOfPause pauses and resumes the agent. Then another agent claims the cluster.
func lifeOfPause(t *testing.T, l *lab, log *eventLog) {
	l.opts.Pause = pause.File{Dir: t.TempDir()}
	l.files["web.yaml"] = vmYAML("web-1", 201, "description: serves the web")
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	l.ok(l.opts.Pause.Write(pause.Note{Reason: "kernel update", Since: time.Now()}))
	eventually(l, "the pause", func() bool { return len(log.of(event.AgentPaused)) == 1 })
	l.ok(l.sim.Edit(201, "description", "by hand"))
	time.Sleep(10 * time.Minute)
	if got := slices.DeleteFunc(log.of(event.StepHeld), func(line logged) bool { return line.attrs["reason"] != string(reason.WritesStopped) }); len(got) != 0 {
		t.Errorf("got holds %v during a pause, want only that writing stopped", got)
	}
	_, err := l.opts.Pause.Remove()
	l.ok(err)
	l.converge()
	other, err := writer.Parse(l.comment())
	l.ok(err)
	other.Writer = writer.Mark{Number: 99, Nonce: "ANOTHERANOTHERAN"}
	l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "^/pools", Kind: pvesim.CommentBefore, Key: writer.Pool, Value: other.String()}))
	l.ok(l.sim.Edit(201, "description", "by hand"))
	eventually(l, "the other agent", func() bool { return len(log.of(event.AgentSuperseded)) == 1 })
	time.Sleep(10 * time.Minute)
	if got := log.of(event.AgentSuperseded); len(got) != 1 {
		t.Errorf("got %d lines of another agent, want one", len(got))
	}
}

// lifeOfExpiry lets an approval of nothing expire.
func lifeOfExpiry(t *testing.T, l *lab, log *eventLog) {
	l.opts.Poll, l.opts.Tick, l.opts.Resync = time.Hour, time.Hour, time.Hour
	l.push("Look\n\nGitops-Approve: 00000000000000000000000000000000\n", olga)
	stop := l.start()
	time.Sleep(2 * time.Hour)
	stop()
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.push("one guest", alice)
	stop = l.start()
	defer stop()
	l.push("Look\n\nGitops-Approve: 00000000000000000000000000000000\n", olga)
	time.Sleep(8 * 24 * time.Hour)
	states := map[journal.OrderState]int{}
	for _, o := range l.journal.State().Orders {
		states[o.State]++
	}
	if got := len(log.of(event.OrderExpired)); got != states[journal.OrderExpired] || got == 0 {
		t.Errorf("got %d lines of expired orders and orders %v, want one each", got, states)
	}
}

// lifeOfTrouble hides a guest, breaks the cluster, takes the remote away, and then the state directory, one after the other, each for a while.
func lifeOfTrouble(t *testing.T, l *lab, log *eventLog) {
	defaultPoll(&l.opts)
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	for _, trouble := range []struct {
		begins, ends   event.Name
		reason         string
		begin, restore func()
	}{
		{event.GuestHidden, event.GuestVisible, "", func() {
			l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}, {Path: "/vms/201", Role: "NoAccess"}})
		}, func() { l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}}) }},
		{event.ClusterLost, event.ClusterReady, string(cluster.OutageUnauthorized), func() { l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.Unauthorized, Times: -1})) }, l.sim.ClearFaults},
		{event.SourceLost, event.SourceAnswers, string(fault.Invalid), func() { rename(l, l.repo.Dir, l.repo.Dir+".away"); l.engine.Hint() }, func() { rename(l, l.repo.Dir+".away", l.repo.Dir); l.engine.Hint() }},
		{event.StateLost, event.StateRestored, "", func() { rename(l, l.state, l.state+".away") }, func() { rename(l, l.state+".away", l.state) }},
	} {
		begun, ended := len(log.of(trouble.begins)), len(log.of(trouble.ends))
		trouble.begin()
		eventually(l, string(trouble.begins), func() bool { return len(log.of(trouble.begins)) == begun+1 })
		time.Sleep(10 * time.Minute)
		trouble.restore()
		eventually(l, string(trouble.ends), func() bool { return len(log.of(trouble.ends)) == ended+1 })
		if got := log.of(trouble.begins); len(got) != begun+1 || got[begun].attrs["reason"] != trouble.reason {
			t.Errorf("got %s %v in ten minutes, want one for the reason %q", trouble.begins, got, trouble.reason)
		}
		l.converge()
	}
}

// lifeOfHA lets the HA manager give a guest up, and a person repair it.
func lifeOfHA(_ *testing.T, l *lab, log *eventLog) {
	l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}})
	l.files["web.yaml"] = vmYAML("web-1", 201, "ha: {state: started}", "state: running")
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	eventually(l, "it runs", func() bool { return l.sim.Running(201) })
	net := l.sim.Value(201, "net0")
	l.ok(l.sim.Edit(201, "net0", "virtio,bridge=vmbr9"))
	l.ok(l.sim.SetRunning(201, false))
	eventually(l, "ha.failed", func() bool { return len(log.of(event.HAFailed)) == 1 })
	l.ok(l.sim.Edit(201, "net0", net))
	l.byPerson("PUT", "/cluster/ha/resources/vm:201", "state=disabled")
	eventually(l, "ha.recovered", func() bool { return len(log.of(event.HARecovered)) == 1 })
	eventually(l, "it runs again", func() bool { return l.sim.Running(201) })
	l.converge()
}

// lifeOfHangingTask lets the task of a start hang until a person stops it.
func lifeOfHangingTask(_ *testing.T, l *lab, log *eventLog) {
	l.files["web.yaml"] = vmYAML("web-1", 201, "state: stopped")
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.TaskNeverEnds, Path: "/qemu/201/status/start$", Times: 1}))
	l.files["web.yaml"] = vmYAML("web-1", 201, "state: running")
	l.push("running", alice)
	eventually(l, "the hanging task", func() bool { return len(log.of(event.TaskHangs)) == 1 })
	upid := log.of(event.TaskHangs)[0].attrs["upid"]
	l.callAs("root@pam!full", "DELETE", "/nodes/"+cluster.TaskNode(upid)+"/tasks/"+upid, "")
	eventually(l, "its end", func() bool { return len(log.of(event.TaskEnded)) == 1 })
	l.converge()
}

// lifeOfClocks lets the clock of an endpoint differ for a while.
func lifeOfClocks(t *testing.T, l *lab, log *eventLog) {
	var ahead atomic.Int64 // seconds
	l.opts.Endpoints = func() []cluster.Endpoint {
		return []cluster.Endpoint{{Address: "pve1:8006", ClockAhead: float64(ahead.Load())}}
	}
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	for _, seconds := range []int64{-3600, 9, 10, 0} {
		ahead.Store(seconds)
		time.Sleep(10 * time.Minute)
	}
	if differs, agrees := log.of(event.ClockDiffers), log.of(event.ClockAgrees); len(differs) != 2 || len(agrees) != 2 || differs[0].attrs["ahead_seconds"] != "-3600" {
		t.Errorf("got %v and %v, want two differences and their ends", differs, agrees)
	}
}

// lifeOfRoot lets the trusted root expire, and replaces it.
func lifeOfRoot(t *testing.T, l *lab, log *eventLog) {
	valid := l.policy.Load()
	l.sig.Retire(sigtest.CA, time.Now().Add(time.Hour))
	l.trust(alice, olga, wanda)
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	time.Sleep(2 * time.Hour)
	if got := log.of(event.RootExpired); len(got) != 1 || !l.engine.Report().Source.RootExpired || !l.engine.Report().Converged {
		t.Errorf("got expiries %v, want one, and the revision in force as before", got)
	}
	l.policy.Store(valid)
	eventually(l, "the newer root", func() bool { return len(log.of(event.RootRenewed)) == 1 })
}

// lifeOfSilence orders a reboot in a commit that changes a file as well, which is accepted without the order, and approves a step that does not exist.
func lifeOfSilence(t *testing.T, l *lab, log *eventLog) {
	l.trustOtto()
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.push("one guest", alice)
	stop := l.start()
	l.converge()
	l.files["web.yaml"] = vmYAML("web-1", 201, "description: changed")
	mixed := l.push("Change and reboot\n\nGitops-Run: reboot VirtualMachine/web-1\nGitops-Target: home/main\n", alice)
	eventually(l, "the refused order", func() bool { return len(log.of(event.OrderRefused)) > 0 })
	l.converge()
	const why = "a commit that changes files gives no orders"
	if got := log.of(event.OrderRefused); len(got) != 1 || got[0].attrs["commit"] != mixed || !strings.HasPrefix(got[0].attrs["why"], why) || got[0].attrs["order"] != "Gitops-Run: reboot VirtualMachine/web-1" {
		t.Errorf("got refused orders %v, want the one of the commit with a file", got)
	}
	stop()
	defer l.start()() // the report has the order after a start too
	l.converge()
	if got := l.engine.Report().Orders; len(got) != 1 || got[0].State != journal.OrderRefused || !strings.HasPrefix(got[0].Why, why) || !strings.Contains(got[0].Why, "gitops-agent order") {
		t.Errorf("got orders %+v, want the refused one with the reason and the remedy", got)
	}
	if got := l.audit(mixed); !got.Accepted || !strings.HasPrefix(got.Ignored, why) {
		t.Errorf("got %+v, want an accepted commit whose orders have no effect", got)
	}

	nothing := l.push("Approve\n\nGitops-Approve: 00000000000000000000000000000000\n", olga)
	eventually(l, "the approval of nothing", func() bool { return len(log.of(event.OrderUnmatched)) > 0 })
	digest := l.holdDestroy("1")
	l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: approve}")
	l.push("keep it", alice)
	l.converge()
	early := l.push("Approve\n\nGitops-Approve: "+digest+"\n", olga)
	eventually(l, "the approval before its step", func() bool { return len(log.of(event.OrderUnmatched)) == 2 })
	delete(l.files, "web.yaml")
	l.push("remove it again", alice)
	eventually(l, "the destroy", func() bool { return l.destroyed(201) })
	time.Sleep(20 * time.Minute)
	if got := log.of(event.OrderMatched); len(got) != 1 || got[0].attrs["commit"] != early {
		t.Errorf("got matched approvals %v, want the one that came before its step", got)
	}
	if got := log.of(event.OrderUnmatched); len(got) != 2 || got[0].attrs["commit"] != nothing || !strings.Contains(got[0].attrs["why"], "no held step has this digest") {
		t.Errorf("got unmatched approvals %v, want the one of nothing alone", got)
	}
	if got := l.engine.Report().Orders; len(got) != 2 || !got[0].Unmatched || got[0].Commit != nothing || got[0].Word() != "unmatched" || got[0].Hint == "" {
		t.Errorf("got orders %+v, want the approval of nothing first, with a remedy", got)
	}
}

// lifeOfTargets pushes a commit whose target is misspelt, and one for the cluster on top. Another cluster of the repository needs no warning.
func lifeOfTargets(t *testing.T, l *lab, log *eventLog) {
	l.binding = verify.BindingTrailer
	l.trust(alice, olga)
	l.files["away/cluster.yaml"] = strings.Replace(clusterYAML, "name: home", "name: away", 1)
	l.files["home/cluster.yaml"], l.files["home/web.yaml"] = l.files["cluster.yaml"], vmYAML("web-1", 201, "description: one")
	delete(l.files, "cluster.yaml")
	l.opts.Scope.Paths = []string{"home"}
	l.push("one guest\n\nGitops-Target: home/main\n", alice)
	defer l.start()()
	l.converge()
	l.push("elsewhere\n\nGitops-Target: away/main\n", alice)
	eventually(l, "the commit for another cluster", func() bool { return l.engine.Report().Source.Ahead != nil })
	if got := l.engine.Report().Source.Ahead; len(got.Unknown) > 0 || got.Misaddressed != 0 || len(log.of(event.RevisionUnnamed)) > 0 {
		t.Errorf("got %+v for a cluster of the repository, want no unknown target and no event", got)
	}
	l.files["home/web.yaml"] = vmYAML("web-1", 201, "description: two")
	misspelt := l.push("misspelt\n\nGitops-Target: hme/main\n", alice)
	eventually(l, "the unknown target", func() bool { return len(l.engine.Report().Source.Ahead.Unknown) > 0 })
	time.Sleep(20 * time.Minute)
	if got := l.engine.Report().Source.Ahead; got.Commits != 2 || got.Misaddressed != 1 || !slices.Equal(got.Unknown, []string{"hme/main"}) || !slices.Contains(got.IDs, misspelt) {
		t.Errorf("got %+v, want two commits, one of them for hme/main alone", got)
	}
	if got := log.of(event.RevisionUnnamed); len(got) != 1 || got[0].attrs["commit"] != misspelt || got[0].attrs["targets"] != "hme/main" || !strings.Contains(got[0].attrs["hint"], "Gitops-Target: home/main") {
		t.Errorf("got events %v in twenty minutes, want one with the commit, the target and the remedy", got)
	}
	l.push("for home/main\n\nGitops-Target: home/main\n", alice)
	eventually(l, "the change of the commit below", func() bool {
		r := l.engine.Report()
		return r.Source.Ahead == nil && r.Converged && strings.Contains(l.sim.Config(201), "two")
	})
}

// lifeOfDisk fills the disk under the journal while the change of one guest waits for the end of its suspension: the first record that does not get onto the disk is that of its step.
func lifeOfDisk(t *testing.T, l *lab, log *eventLog) {
	l.files["web.yaml"] = vmYAML("web-1", 201, "description: serves the web")
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	until := time.Now().Add(10 * time.Minute)
	l.files["web.yaml"] = vmYAML("web-1", 201, "description: serves all", `suspend: {reason: a test, until: "`+until.UTC().Format(time.RFC3339)+`"}`)
	l.push("a change for later", alice)
	eventually(l, "the suspended change", func() bool { return len(l.guest(l.engine.Report(), 201).Held) == 1 })
	time.Sleep(time.Until(until) - time.Second)
	if !l.engine.Report().Journal.Healthy {
		t.Fatal("got a journal that failed before the disk was full")
	}
	l.ok(fulldisk.Fill(filepath.Join(l.state, "journal")))
	eventually(l, "the full disk", func() bool { return len(log.of(event.JournalFailed)) == 1 })
	time.Sleep(10 * time.Minute)
	if got := log.of(event.JournalFailed); len(got) != 1 || got[0].attrs["reason"] != string(journal.FaultDiskFull) {
		t.Errorf("got %v in ten minutes, want one full disk", got)
	}
	if got, g := log.of(event.GuestFailed), l.guest(l.engine.Report(), 201); len(got) != 0 || hasCondition(g, plan.Failed, reason.Error) {
		t.Errorf("got %v and %+v, want no guest that failed: the journal did", got, g.Conditions)
	}
}

// lifeOfStore lets the service of the journal take no records for a while, although it can be read.
func lifeOfStore(t *testing.T, l *lab, log *eventLog) {
	var refused atomic.Pointer[error]
	l.opts.Refused = func() error {
		if err := refused.Load(); err != nil {
			return *err
		}
		return nil
	}
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	full := fmt.Errorf("%w: get a lease: no space", journal.ErrStoreFull)
	refused.Store(&full)
	eventually(l, "the full service", func() bool { return len(log.of(event.JournalFailed)) == 1 })
	refused.Store(nil)
	eventually(l, "its end", func() bool { return len(log.of(event.JournalFollowed)) == 1 })
	if got := log.of(event.JournalFailed); len(got) != 1 || got[0].attrs["reason"] != string(journal.FaultDiskFull) {
		t.Errorf("got %v, want one full service", got)
	}
}
