package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/retry"
)

func takesRequests(t *testing.T) labOption {
	dir := t.TempDir()
	return func(o *reconcile.Options) { o.Retry = retry.File{Dir: dir} }
}

// askAgain leaves a request for these guests, or for all without any, and returns the outcome.
func (l *lab) askAgain(id string, labels ...string) retry.Outcome {
	l.Helper()
	l.ok(l.opts.Retry.Write(retry.Request{ID: id, Guests: labels, All: len(labels) == 0, UID: 1000, Since: time.Now()}))
	time.Sleep(3 * time.Second) // a look each second, and a cycle
	done := l.engine.Report().Retried
	if _, found := l.opts.Retry.Read(); found || done == nil || done.ID != id {
		l.Fatalf("got outcome %+v, and the file still there: %t; want the request taken", done, found)
	}
	return *done
}

// TestRetryEndsTheBackoff makes a guest fail until it waits for minutes. A request ends the wait: without a commit, and for this guest alone.
func TestRetryEndsTheBackoff(t *testing.T) {
	runLab(t, []labOption{takesRequests(t)}, func(t *testing.T, l *lab) {
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}"), vmYAML("db-1", 202, "memory: {size: 2Gi}")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/config$", Kind: pvesim.ErrorText, Text: "not today", Times: -1}))
		for _, vmid := range []int{201, 202} {
			l.ok(l.sim.Edit(vmid, "memory", "4096"))
		}
		nextTry := func(vmid int) time.Time { return l.guest(l.engine.Report(), vmid).NextTry }
		eventually(t, "long waits", func() bool {
			return time.Until(nextTry(201)) > 2*time.Minute && time.Until(nextTry(202)) > 2*time.Minute
		})
		before := nextTry(202)
		l.sim.ClearFaults()
		time.Sleep(10 * time.Second)
		if got := l.sim.Value(201, "memory"); got != "4096" {
			t.Fatalf("got memory %s while the guest waits, want 4096", got)
		}
		outcome := l.askAgain("first", "VirtualMachine/web-1", "VirtualMachine/gone")
		want := retry.Guest{Guest: "VirtualMachine/web-1", VMID: 201, Cleared: []retry.Cleared{retry.Backoff}}
		if len(outcome.Guests) != 1 || !slices.Equal(outcome.Guests[0].Cleared, want.Cleared) || outcome.Guests[0].Guest != want.Guest || len(outcome.Guests[0].Remains) != 0 {
			t.Errorf("got %+v, want %+v", outcome.Guests, want)
		}
		if !slices.Equal(outcome.Unknown, []string{"VirtualMachine/gone"}) {
			t.Errorf("got unknown guests %v, want the one without a manifest", outcome.Unknown)
		}
		eventually(t, "the repair", func() bool { return l.sim.Value(201, "memory") == "2048" })
		if got := l.sim.Value(202, "memory"); got != "4096" || !nextTry(202).Equal(before) {
			t.Errorf("got memory %s of the other guest, and its next try at %v; want 4096 at %v", got, nextTry(202), before)
		}
		if outcome := l.askAgain("second"); len(outcome.Guests) != 1 || outcome.Guests[0].VMID != 202 {
			t.Errorf("got %+v for all guests, want the one that waits", outcome.Guests)
		}
		l.converge()
		if !l.guest(l.engine.Report(), 202).NextTry.IsZero() {
			t.Error("got a next try of a guest in sync, want none")
		}
	})
}

// TestRetryEndsFlapping asks for a guest whose repairs are spaced out, before the start of the agent.
func TestRetryEndsFlapping(t *testing.T) {
	runLab(t, []labOption{takesRequests(t)}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		flaps := func() bool { return hasCondition(l.guest(l.engine.Report(), 201), plan.Blocked, reason.Flapping) }
		for range 30 {
			l.ok(l.sim.Edit(201, "memory", "4096"))
			time.Sleep(time.Minute / 2)
			if flaps() && l.sim.Value(201, "memory") == "4096" {
				break
			}
		}
		if g := l.guest(l.engine.Report(), 201); !flaps() || !g.NextTry.After(time.Now()) {
			t.Fatalf("got %+v, want a guest that flaps and waits", g)
		}
		stop()
		l.ok(l.opts.Retry.Write(retry.Request{ID: "stopped", Guests: []string{"VirtualMachine/web-1"}, Since: time.Now()}))
		defer l.start()()
		time.Sleep(20 * time.Second)
		done := l.engine.Report().Retried
		if done == nil || len(done.Guests) != 1 || !slices.Equal(done.Guests[0].Cleared, []retry.Cleared{retry.Flapping}) || flaps() {
			t.Errorf("got outcome %+v, want the flapping cleared", done)
		}
		if got := l.sim.Value(201, "memory"); got != "2048" {
			t.Errorf("got memory %s, want the repair", got)
		}
		if got := l.journal.State().Flapping; len(got) != 0 {
			t.Errorf("got records %v, want none", got)
		}
	})
}

// TestRetryRepeatsARestart asks for a guest whose restart did not apply the pending change: it is restarted once more, and no second time.
func TestRetryRepeatsARestart(t *testing.T) {
	runLabWithProbe(t, []labOption{takesRequests(t)}, func(t *testing.T, l *lab, p *probe) {
		l.rareTicks()
		l.files["web.yaml"] = runningWeb(1)
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		p.setHooks(hooks{read: waitsFor("cores", "1", "2")})
		l.files["web.yaml"] = runningWeb(2)
		l.waitForAcceptance(l.push("two cores", alice))
		restarts := func(want int, when string) {
			t.Helper()
			time.Sleep(time.Hour)
			if got := l.sim.Effects(201, pvesim.Stopped); got != want {
				t.Errorf("got %d restarts an hour after %s, want %d", got, when, want)
			}
		}
		restarts(1, "the change")
		got := l.askAgain("again", "VirtualMachine/web-1")
		if want := []retry.Cleared{retry.Backoff, retry.Restart}; len(got.Guests) != 1 || !slices.Equal(got.Guests[0].Cleared, want) {
			t.Errorf("got %+v, want %v cleared", got.Guests, want)
		}
		restarts(2, "the request")
		stop()
		defer l.start()()
		restarts(2, "another start of the agent")
	})
}

// TestRetryLiftsNothingElse asks for guests with a held step, a hanging task and an open step. It changes nothing and names the reasons.
func TestRetryLiftsNothingElse(t *testing.T) {
	runLab(t, []labOption{takesRequests(t)}, func(t *testing.T, l *lab) {
		l.files["web.yaml"], l.files["db.yaml"], l.files["app.yaml"] = webOnBridge("vmbr0"), vmYAML("db-1", 202, "state: stopped"), vmYAML("app-1", 203, "state: stopped")
		l.push("three guests", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.TaskNeverEnds, Path: "/qemu/202/status/start$"}))
		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.DropBefore, Path: "/qemu/203/status/start$"}))
		l.files["web.yaml"], l.files["db.yaml"], l.files["app.yaml"] = webOnBridge("vmbr1"), vmYAML("db-1", 202, "state: running"), vmYAML("app-1", 203, "state: running")
		l.push("changes", alice)
		l.digestOfHold(201)
		eventually(t, "the open step", func() bool { return l.hasOpenStep(203) })
		time.Sleep(time.Minute)
		const route = "POST /nodes/{node}/qemu/{vmid}/status/start"
		starts := l.sim.Counters().Routes[route]
		remains := func(id string, vmid int, want string) {
			t.Helper()
			for _, g := range l.askAgain(id).Guests {
				if g.VMID == vmid && slices.ContainsFunc(g.Remains, func(r retry.Remains) bool { return r.Reason == want && r.Message != "" && r.Hint != "" }) {
					return
				}
			}
			t.Errorf("got %+v, want %s named for guest %d", l.engine.Report().Retried.Guests, want, vmid)
		}
		remains("held", 201, string(reason.Approval))
		remains("open", 203, retry.OpenStep)
		if got := l.sim.Counters().Routes[route]; got != starts || starts == 0 {
			t.Errorf("got %d calls of start, want none after the first %d", got, starts)
		}
		eventually(t, "the hanging task", func() bool { return hasCondition(l.guest(l.engine.Report(), 202), plan.Blocked, reason.TaskHangs) })
		starts = l.sim.Counters().Routes[route]
		remains("hanging", 202, string(reason.TaskHangs))
		for _, g := range l.engine.Report().Retried.Guests {
			if g.VMID == 202 && slices.ContainsFunc(g.Remains, func(r retry.Remains) bool { return r.Reason == retry.OpenStep }) {
				t.Errorf("got %+v, want no %s beside the task that hangs: its call has a known task", g.Remains, retry.OpenStep)
			}
		}
		if got := l.sim.Counters().Routes[route]; got != starts {
			t.Errorf("got %d calls of start beside the hanging task, want none", got-starts)
		}
		if got := l.sim.Value(201, "net0"); !strings.Contains(got, "vmbr0") {
			t.Errorf("got %s, want the held change not made", got)
		}
	})
}

// hasOpenStep reports whether a step of the guest has no outcome.
func (l *lab) hasOpenStep(vmid int) bool {
	for _, open := range l.journal.State().Open {
		if open.VMID == vmid {
			return true
		}
	}
	return false
}

// lifeOfRetry asks for a guest that fails.
func lifeOfRetry(t *testing.T, l *lab, _ *eventLog) {
	l.opts.Retry = retry.File{Dir: t.TempDir()}
	l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	l.askAgain("once", "VirtualMachine/web-1")
}

// TestRetryOfObjects makes an object and an Image fail for want of privileges until they wait for long, and then the removal of the object. After the grant a
// request ends each wait: by name, for all, and without a manifest.
func TestRetryOfObjects(t *testing.T) {
	runLabWithImage(t, func(t *testing.T, l *lab) {
		takesRequests(t)(&l.opts)
		l.sim.SetPrivileges(pvesim.DefaultTokens()[1].ID, pvesim.DefaultTokens()[1].ACL)
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.files["job.yaml"] = objectCases["backup_job"].manifest("lifecycle: {destroy: allow}")
		l.push("an image and a job", alice)
		defer l.start()()
		waits := func(label string) {
			t.Helper()
			eventually(t, label+" to wait", func() bool { return time.Until(l.object(label).NextTry) > 2*time.Minute })
		}
		wantCleared := func(outcome retry.Outcome, labels ...string) {
			t.Helper()
			var cleared []string
			for _, g := range outcome.Guests {
				if slices.Equal(g.Cleared, []retry.Cleared{retry.Backoff}) && g.VMID == 0 {
					cleared = append(cleared, g.Guest)
				}
			}
			if !slices.Equal(cleared, labels) || len(outcome.Unknown) != 0 {
				t.Errorf("got %+v, want the waits of %v cleared", outcome, labels)
			}
		}
		isMade := func() bool { return l.sim.BackupJob("nightly") != nil }
		waits("BackupJob/nightly")
		waits("Image/debian-13")
		l.grant("Sys.Modify", "Datastore.Allocate", "Sys.AccessNetwork")
		wantCleared(l.askAgain("one", "BackupJob/nightly"), "BackupJob/nightly")
		time.Sleep(10 * time.Second)
		if image := l.object("Image/debian-13"); !isMade() || image.NextTry.IsZero() {
			t.Errorf("got the job made: %t, and the image %+v; want the job made, and the image still waiting", isMade(), image)
		}
		wantCleared(l.askAgain("all"), "Image/debian-13")
		l.converge()

		l.sim.SetPrivileges(pvesim.DefaultTokens()[1].ID, pvesim.DefaultTokens()[1].ACL)
		delete(l.files, "job.yaml")
		l.push("no job", alice)
		waits("BackupJob/nightly")
		l.grant("Sys.Modify", "Datastore.Allocate", "Sys.AccessNetwork")
		wantCleared(l.askAgain("owned", "BackupJob/nightly"), "BackupJob/nightly")
		time.Sleep(10 * time.Second)
		if isMade() {
			t.Error("got the job still there, want its removal tried again at once")
		}
	})
}

// TestRetryableNamesEverything lists what a request can name: manifests first, then what is owned without one, each once.
func TestRetryableNamesEverything(t *testing.T) {
	t.Parallel()
	ref := func(kind guest.Kind, name string, vmid int) guest.Ref {
		return guest.Ref{Kind: kind, Name: name, VMID: vmid}
	}
	state := journal.State{
		Owned: map[int]journal.Owned{201: {Kind: "VirtualMachine", Name: "web-1"}, 202: {Kind: "Container", Name: "dns-1"}},
		Objects: map[journal.ObjectID]journal.OwnedObject{
			{Kind: "Pool", ID: "web"}: {Kind: "Pool", ID: "web", Name: "web"}, {Kind: "Alias", ID: "office"}: {Kind: "Alias", ID: "office", Name: "office"},
		},
		Downloaded: map[journal.FileOn]journal.File{
			{Node: "pve1", Volume: "local:import/a"}: {Downloaded: journal.Downloaded{Name: "a", Node: "pve1", Volume: "local:import/a", Prune: true}},
			{Node: "pve1", Volume: "local:import/b"}: {Downloaded: journal.Downloaded{Name: "b", Node: "pve1", Volume: "local:import/b"}},
		},
	}
	got := reconcile.Retryable([]guest.Ref{ref("VirtualMachine", "web-1", 201)}, []image.Desired{{Name: "debian-13"}}, []kind.Desired{{Kind: "Pool", Name: "web", ID: "web"}}, state)
	want := []guest.Ref{
		ref("VirtualMachine", "web-1", 201), ref("Image", "debian-13", 0), ref("Pool", "web", 0), ref("Container", "dns-1", 202), ref("Alias", "office", 0), ref("Image", "a", 0),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
