package model_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// haEvent is something that people, nodes or the network do. It happens once at most in a path.
type haEvent struct {
	name     string
	possible func(*haPath) bool // nil is always
	happen   func(*haPath)
	until    time.Duration // after which it ends by itself; 0 is never
	end      func(*haPath)
}

// haScenario is a world of two managers.
type haScenario struct {
	name   string
	before map[string]string // files that have converged before the path begins
	change map[string]string // files of the change with which the path begins
	order  string            // what is ordered instead; "" is nothing
	begin  func(*haWorld)    // what else is so when the path begins
	events []haEvent
	waits  bool // the guest 202 must not run before the guest 201 has run
}

// signed is what a path pushes.
type signed struct {
	repo   *gittest.Repo // with the commits of before, and those of the change
	before string
	change string
	policy *verify.Policy
}

var (
	haAlice = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}
	haOtto  = sigtest.Identity{Subject: "otto@lab.test", Issuer: "https://issuer.test"}
)

// The changes of the paths are signed haBegin after the agent has begun its journal.
const (
	haMinute = time.Minute
	haMoment = 130 * time.Millisecond // between what happens at different times, so that no two things happen at the same time
	haBegin  = 4 * haMinute
)

// sign makes the commits of a scenario.
func (s *haScenario) sign(t *testing.T) *signed {
	t.Helper()
	out := &signed{repo: gittest.New(t)}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sig, err := sigtest.New(sigtest.Options{Name: "model", Seed: "model", From: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), CAKey: sigtest.P256})
	ok(err)
	commit := func(message string, who sigtest.Identity, at time.Time) string {
		spec := sigtest.CommitSpec{Tree: out.repo.Tree(), Message: message}
		if out.repo.Tip != "" {
			spec.Parents = []string{out.repo.Tip}
		}
		raw, id, err := sig.Commit(spec, who, sigtest.SignOptions{At: at})
		ok(err)
		return out.repo.Place(raw, id)
	}
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of each bubble
	maps.Copy(out.repo.Files, s.before)
	out.before = commit("before", haAlice, began)
	if s.order != "" {
		out.change = commit("Order\n\n"+order.RunPrefix+s.order+"\nGitops-Target: home/main\n", haOtto, began.Add(haBegin))
	} else {
		maps.Copy(out.repo.Files, s.change)
		out.change = commit("change", haAlice, began.Add(haBegin))
	}
	root, err := sig.TrustedRoot()
	ok(err)
	signer := func(who sigtest.Identity, role verify.Role) verify.Signer {
		return verify.Signer{Name: who.Subject, Issuer: who.Issuer, Subject: who.Subject, May: []verify.Role{role}}
	}
	out.policy, err = verify.NewPolicy(verify.Options{
		TrustedRoot: root, Branch: "main", Target: "home/main", Binding: verify.BindingNone, TrustOnFirstUse: true,
		Signers: []verify.Signer{signer(haAlice, verify.RoleChange), signer(haOtto, verify.RoleOperate)},
	})
	ok(err)
	return out
}

// haPath is one path of such a world.
type haPath struct {
	scenario *haScenario
	signed   *signed
	dir      string
	world    *haWorld
	agent    *haAgent

	used      map[string]bool
	happened  int
	ends      []haEnd
	changes   int             // that may move a guest
	acts      map[string]bool // by step and operation
	final     map[string]journal.OrderState
	unsettled map[int]time.Time // by vmid: since when the HA manager and the guest do not agree
	idleLock  map[int]time.Time // by vmid: since when a lock is there, no task holds it, and every node answers
	hidden    time.Time         // until when the agent could not see the cluster
	heard     time.Time         // when every node answered
	unheard   time.Time         // when a node did not
	ran       bool              // the guest 201 ran
	calm      time.Duration     // after which nothing more happens, if all is well
	kills     bool              // the agent is to be killed
	violation string
	trace     []string
}

type haEnd struct {
	at  time.Time
	end func(*haPath)
}

// haAgent is one process.
type haAgent struct {
	haReader

	path    *haPath
	engine  *reconcile.Engine
	journal *journal.Journal
	started time.Time
	cancel  context.CancelFunc
	ended   chan struct{}

	mu      sync.Mutex
	dead    bool
	waiting []*haCall
}

// haCall is a call of the agent that waits for the search.
type haCall struct {
	call   cluster.Call
	sent   bool // it has acted, and its reply is awaited
	resume chan struct{}
	hangs  bool
	lost   bool
}

func (c *haCall) String() string {
	return fmt.Sprintf("%s of %d%s %s", c.call.Op, c.call.VMID, c.call.Object, c.call.Params["target"]+c.call.Params["state"])
}

func (p *haPath) violate(format string, args ...any) {
	if p.violation == "" {
		p.violation = fmt.Sprintf(format, args...)
	}
}

// start starts the agent.
func (p *haPath) start(t *testing.T) {
	t.Helper()
	j, err := journal.Open(journal.Options{Dir: filepath.Join(p.dir, "journal")})
	if err != nil {
		t.Fatal(err)
	}
	source, err := gitsource.Open(gitsource.Options{
		Dir: filepath.Join(p.dir, "repository"), Branch: "main", Remotes: []gitsource.Remote{{URL: "file://" + p.signed.repo.Dir}}, UploadPack: gittest.UploadPack,
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &haAgent{haReader: haReader{reader{p.world.base}, p.world}, path: p, journal: j, started: time.Now(), ended: make(chan struct{})}
	a.engine = reconcile.NewEngine(reconcile.Options{
		Cluster: a, Source: source, Policy: func() (*verify.Policy, error) { return p.signed.policy, nil }, Journal: j, Branch: "main", Scope: intake.Scope{Cluster: "home"},
		Poll: time.Hour, Tick: haStep, Resync: 4 * haStep, Wait: time.Millisecond,
	})
	ctx, cancel := context.WithCancel(t.Context())
	a.cancel = cancel
	go func() {
		defer close(a.ended)
		if err := a.engine.Run(ctx); err != nil && !a.isDead() {
			p.violate("the engine ended: %v", err)
		}
	}()
	p.agent = a
}

// stop kills the agent: whatever it still tries has no effect.
func (p *haPath) stop() {
	a := p.agent
	a.mu.Lock()
	a.dead = true
	waiting := a.waiting
	a.waiting = nil
	a.mu.Unlock()
	_ = a.journal.Close()
	a.cancel()
	for _, c := range waiting {
		close(c.resume)
	}
	<-a.ended
}

func (a *haAgent) isDead() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dead
}

// giveWay waits until the search lets a call go on.
func (a *haAgent) giveWay(c *haCall) error {
	a.mu.Lock()
	if a.dead {
		a.mu.Unlock()
		return errDead
	}
	c.resume = make(chan struct{})
	a.waiting = append(a.waiting, c)
	a.mu.Unlock()
	<-c.resume
	if a.isDead() {
		return errDead
	}
	return nil
}

// Do waits for a slot, runs the last check, and sends the call.
func (a *haAgent) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	c := &haCall{call: call}
	if err := a.giveWay(c); err != nil {
		return "", err
	}
	if err := check(ctx); err != nil {
		return "", err
	}
	if c.hangs {
		time.Sleep(5 * haStep)
		if a.isDead() {
			return "", errDead
		}
	}
	a.path.sent(call)
	upid, err := a.act(call)
	if c.sent = true; err == nil {
		a.path.acted(call)
		if dead := a.giveWay(c); dead != nil {
			return "", dead
		}
	}
	if c.lost && err == nil {
		return "", fmt.Errorf("no reply: %w", cluster.ErrUnanswered)
	}
	return upid, err
}

// sent checks a call of the agent.
func (p *haPath) sent(call cluster.Call) {
	w := p.world
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.services[call.VMID]
	switch {
	case call.Op == cluster.OpMigrate && slices.ContainsFunc(w.queue, func(r request) bool { return r.vmid == call.VMID && r.agent }):
		p.violate("%s is asked for while the request before it lies in the queue", nameOf(call))
	case call.Op == cluster.OpStart && call.VMID == 202 && p.scenario.waits && !p.ran:
		p.violate("%s comes before guest 201 has run, on which it depends", nameOf(call))
	case call.Op == cluster.OpStart && s != nil && s.entry != "" && s.entry != haIgnored:
		p.violate("%s is a run state of a guest under HA", nameOf(call))
	}
}

// acted checks that no step, and no order, has a second effect.
func (p *haPath) acted(call cluster.Call) {
	for _, open := range p.agent.journal.State().Open {
		if open.VMID != call.VMID || open.Detail[journal.DetailObject] != call.Object {
			continue
		}
		key := open.Step
		if o := open.Detail["order"]; o != "" {
			key = orderStep + o // whatever its step
		}
		if key += string(call.Op); p.acts[key] {
			p.violate("%s has a second effect", nameOf(call))
		}
		p.acts[key] = true
	}
}

// actions returns the possible continuations. The first one is the ordinary course of things.
func (p *haPath) actions(t *testing.T) []action {
	t.Helper()
	a := p.agent
	a.mu.Lock()
	waiting := slices.Clone(a.waiting)
	a.mu.Unlock()
	slices.SortFunc(waiting, func(x, y *haCall) int {
		return cmp.Or(cmp.Compare(x.call.VMID, y.call.VMID), cmp.Compare(x.call.Object, y.call.Object), cmp.Compare(x.call.Op, y.call.Op))
	})
	var list []action
	resume := func(c *haCall) {
		a.mu.Lock()
		a.waiting = slices.DeleteFunc(a.waiting, func(o *haCall) bool { return o == c })
		a.mu.Unlock()
		time.Sleep(haMoment)
		close(c.resume)
	}
	if len(waiting) > 0 {
		c := waiting[0]
		list = append(list, action{"the agent: " + c.String() + map[bool]string{true: " is answered"}[c.sent], func() { resume(c) }})
		if p.may("a call hangs") && !c.sent {
			list = append(list, action{c.String() + " hangs for 25 s", func() { p.use("a call hangs"); c.hangs = true; resume(c) }})
		}
		if p.may("a reply is lost") && c.sent {
			list = append(list, action{"the reply to " + c.String() + " is lost", func() { p.use("a reply is lost"); c.lost = true; resume(c) }})
		}
	} else {
		list = append(list, action{"", func() { p.pass() }})
	}
	for _, e := range p.scenario.events {
		if e.happen == nil || !p.may(e.name) || e.possible != nil && !e.possible(p) {
			continue
		}
		list = append(list, action{e.name, func() {
			p.use(e.name)
			e.happen(p)
			if e.end != nil {
				p.ends = append(p.ends, haEnd{time.Now().Add(e.until), e.end})
			}
		}})
	}
	return list
}

// may reports whether an event of the scenario may still happen.
func (p *haPath) may(name string) bool {
	return !p.used[name] && p.happened < *modelEvents && slices.ContainsFunc(p.scenario.events, func(e haEvent) bool { return e.name == name })
}

func (p *haPath) use(name string) {
	p.used[name] = true
	p.happened++
	p.changes++
}

// pass lets five seconds pass.
func (p *haPath) pass() {
	time.Sleep(haStep - time.Since(p.world.began)%haStep)
	now := time.Now()
	p.ends = slices.DeleteFunc(p.ends, func(e haEnd) bool {
		if e.at.After(now) {
			return false
		}
		e.end(p)
		return true
	})
	p.world.pass()
}

// run continues a path to its end.
func (p *haPath) run(t *testing.T, choices, widths []int) (options []int) {
	t.Helper()
	changed, state := time.Now(), ""
	for begun := time.Now(); ; {
		synctest.Wait()
		p.check()
		if p.violation != "" {
			return options
		}
		if text := p.world.text() + p.ofAgent(); text != state {
			if state != "" {
				p.trace = append(p.trace, fmt.Sprintf("%9s  %s", time.Since(begun), text))
			}
			state, changed = text, time.Now()
		}
		list := p.actions(t)
		fresh := time.Since(changed) == 0
		switch since := time.Since(changed); {
		case len(p.ends) == 0 && (since > 25*time.Minute || since > p.calm && p.isGreen()):
			return options
		case time.Since(begun) > 4*time.Hour:
			p.violate("the path does not end")
			return options
		}
		chosen := 0
		if fresh && len(list) > 1 {
			at := len(options)
			if at < len(widths) && at < len(choices) && widths[at] != len(list) {
				p.violate("the path is not reproducible: got %d options, want %d", len(list), widths[at])
				return options
			}
			if at < len(choices) {
				chosen = min(choices[at], len(list)-1)
			}
			options = append(options, len(list))
		}
		if name := list[chosen].name; name != "" {
			p.trace = append(p.trace, fmt.Sprintf("%9s  %2d of %d  %s", time.Since(begun), chosen, len(list), name))
		}
		list[chosen].do()
		if p.kills {
			p.kills = false
			p.stop()
			time.Sleep(haMoment)
			p.start(t)
		}
		if chosen > 0 {
			state += " "
		}
	}
}

// ofAgent is what can change of the agent, without times.
func (p *haPath) ofAgent() string {
	state := p.agent.journal.State()
	var b strings.Builder
	for _, o := range state.Open {
		fmt.Fprintf(&b, " open:%s/%d", o.Op, o.Dispatched)
	}
	for _, key := range slices.Sorted(maps.Keys(state.Orders)) {
		fmt.Fprintf(&b, " order:%s", state.Orders[key].State)
	}
	p.agent.mu.Lock()
	defer p.agent.mu.Unlock()
	for _, c := range p.agent.waiting {
		fmt.Fprintf(&b, " %s(%v)", c, c.sent)
	}
	return b.String()
}

// vmids returns those of the guests of the agent.
func (p *haPath) vmids() []int {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return slices.Sorted(maps.Keys(p.world.services))
}

// guest returns what the agent reports of a guest.
func (p *haPath) guest(vmid int) (report.Guest, bool) {
	r := p.agent.engine.Report()
	i := slices.IndexFunc(r.Guests, func(g report.Guest) bool { return g.VMID == vmid })
	if i < 0 {
		return report.Guest{}, false
	}
	return r.Guests[i], true
}

// isGreen reports whether the agent reports every guest, and the revision that was pushed, as it should be.
func (p *haPath) isGreen() bool {
	r := p.agent.engine.Report()
	for _, vmid := range p.vmids() {
		if g, listed := p.guest(vmid); !listed || g.Sync != report.Synced || g.Health != report.Healthy {
			return false
		}
	}
	return r.Converged && r.Source.Accepted != nil
}

// check checks what must hold at every moment.
func (p *haPath) check() {
	now := time.Now()
	w := p.world
	w.mu.Lock()
	blind := w.cut != nil || w.noQuorum || len(w.silent) > 0
	if s := w.services[201]; s != nil && s.running {
		p.ran = true
	}
	silent := len(w.silent) + len(w.lost)
	w.mu.Unlock()
	if silent == 0 {
		p.heard = now
	} else {
		p.unheard = now
	}
	if blind {
		p.hidden = now
	}
	seen := now.Sub(p.hidden) > 2*haStep && now.Sub(p.agent.started) > 2*haStep
	for _, vmid := range p.vmids() {
		g, listed := p.guest(vmid)
		p.checkGreen(g, vmid, seen && listed, now)
		p.checkLock(g, vmid, silent, now)
		p.checkDropped(vmid, seen && now.Sub(p.unheard) > time.Minute)
		w.mu.Lock()
		if moves := w.services[vmid].moves; moves > 2*p.changes {
			p.violate("guest %d was moved %d times, after %d changes", vmid, moves, p.changes)
		}
		w.mu.Unlock()
	}
	p.checkOrders()
}

// checkGreen requires that a guest is only green if the HA manager agrees. The agent may need a look until it knows.
func (p *haPath) checkGreen(g report.Guest, vmid int, seen bool, now time.Time) {
	if p.world.isSettled(vmid) {
		delete(p.unsettled, vmid)
		return
	}
	if p.unsettled[vmid].IsZero() {
		p.unsettled[vmid] = now
	}
	if since := now.Sub(p.unsettled[vmid]); seen && since > haStep && g.Sync == report.Synced && g.Health == report.Healthy && g.Operation == report.Idle {
		p.violate("guest %d is green, and for %s the HA manager does not agree", vmid, since)
	}
}

// checkLock requires that the agent says what ends the lock of a migration that no task holds, and advises nothing that may end a task.
func (p *haPath) checkLock(g report.Guest, vmid, silent int, now time.Time) {
	advised := slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool { return strings.Contains(c.Hint, "unlock") })
	if p.world.lockedWithoutTask(vmid) && silent == 0 && !p.world.stands() { // without a master, the agent says that
		if p.idleLock[vmid].IsZero() {
			p.idleLock[vmid] = now
		}
	} else {
		delete(p.idleLock, vmid)
	}
	idle := p.idleLock[vmid]
	if idle.Before(p.agent.started) {
		idle = p.agent.started
	}
	switch {
	case !p.idleLock[vmid].IsZero() && !advised && now.Sub(idle) > 3*time.Minute && now.Sub(p.hidden) > 3*time.Minute:
		p.violate("guest %d has a lock that no task holds, and for three minutes the agent says nothing else than that it waits", vmid)
	case advised && p.world.hasTask(vmid):
		p.violate("a task moves guest %d, and the agent advises to unlock it", vmid)
	case advised && silent > 0 && now.Sub(p.heard) > time.Minute:
		p.violate("the agent advises to unlock guest %d, and not every node has answered", vmid)
	}
}

// checkDropped requires that the agent does not wait for a request that the HA manager has dropped.
func (p *haPath) checkDropped(vmid int, seen bool) {
	w := p.world
	w.mu.Lock()
	at, dropped := w.dropped[vmid]
	if dropped && len(w.lost) > 0 { // while its node is lost, the task of the request cannot be read, and the lane reads it again after a pause that grows to a minute and more
		at = w.rounds + 6
		w.dropped[vmid] = at
	}
	since := w.rounds - at
	w.mu.Unlock()
	waits := slices.ContainsFunc(p.agent.journal.State().Open, func(o journal.OpenStep) bool { return o.VMID == vmid && o.Op == string(cluster.OpMigrate) })
	switch {
	case !dropped:
	case !waits:
		w.mu.Lock()
		delete(w.dropped, vmid)
		w.mu.Unlock()
	case seen && since >= 6 && time.Since(p.agent.started) >= time.Minute && !w.isMoving(vmid) && !w.lockedWithoutTask(vmid):
		p.violate("the HA manager has dropped the request for guest %d, and the agent waits for it without a word for %d rounds", vmid, since)
	}
}

// checkOrders requires that no order has an outcome while its guest is under way.
func (p *haPath) checkOrders() {
	for key, o := range p.agent.journal.State().Orders {
		before := p.final[key]
		if p.final[key] = o.State; before == o.State || o.State.IsOpen() || o.State == journal.OrderReleased {
			continue
		}
		w := p.world
		w.mu.Lock()
		s := w.services[o.VMID]
		under := s != nil && s.task != 0
		w.mu.Unlock()
		if under && (o.State == journal.OrderFailed || o.State == journal.OrderUnknown) {
			p.violate("the order is %s (%s), and the guest is on its way", o.State, o.Why)
		}
	}
}

// finish lets people do what the agent advises, and requires that both managers agree at the end.
func (p *haPath) finish(t *testing.T) {
	t.Helper()
	for range 4 {
		if p.violation != "" || p.isGreen() {
			break
		}
		if !p.obey() {
			break
		}
		p.scenario = &haScenario{name: p.scenario.name, waits: p.scenario.waits}
		p.run(t, nil, nil)
	}
	switch {
	case p.violation != "":
	case !p.isGreen():
		p.violate("at the end the agent is not content, and no advice of it helps: %s", p.describe())
	case len(p.agent.journal.State().Open) > 0:
		p.violate("at the end a step is open: %s", p.describe())
	}
	for _, vmid := range p.vmids() {
		if p.violation == "" && (!p.world.isSettled(vmid) || !p.world.isHome(vmid)) {
			p.violate("at the end the HA manager is not content with guest %d: %s", vmid, p.world.text())
		}
	}
}

// obey does what the agent advises.
func (p *haPath) obey() bool {
	did := false
	for _, vmid := range p.vmids() {
		g, _ := p.guest(vmid)
		for _, c := range g.Conditions {
			p.world.mu.Lock()
			s := p.world.services[vmid]
			switch {
			case strings.Contains(c.Hint, "qm unlock") && s.lock != "":
				s.lock, did = "", true
				p.trace = append(p.trace, "           a person unlocks the guest")
			case s.state == haError && strings.Contains(c.Hint, "disabled"):
				p.world.broken, s.entry, did = false, haDisabled, true
				p.trace = append(p.trace, "           a person removes the cause, and disables the entry")
			}
			p.world.mu.Unlock()
		}
	}
	p.changes++
	return did
}

func (p *haPath) describe() string {
	var b strings.Builder
	r := p.agent.engine.Report()
	for _, g := range r.Guests {
		fmt.Fprintf(&b, "%s: %s, %s, %s", g.Name, g.Sync, g.Health, g.Operation)
		for _, c := range g.Conditions {
			fmt.Fprintf(&b, "; %s %s: %s (%s)", c.Type, c.Reason, c.Message, c.Hint)
		}
		for _, h := range g.Held {
			fmt.Fprintf(&b, "; held %s: %s", h.Op, h.Message)
		}
		b.WriteString("\n")
	}
	for _, o := range r.Orders {
		fmt.Fprintf(&b, "order %s: %s %s\n", o.Order, o.State, o.Why)
	}
	fmt.Fprintf(&b, "writes %s; %s", r.Writes.Reason, p.world.text())
	return b.String()
}

// path runs one path.
func (s *haScenario) path(t *testing.T, signed *signed, choices, widths []int) (p *haPath, options []int) {
	t.Helper()
	dir := scratch(t)
	synctest.Test(t, func(t *testing.T) {
		p = &haPath{
			scenario: s, signed: signed, dir: dir, world: newHAWorld(), used: map[string]bool{}, acts: map[string]bool{}, final: map[string]journal.OrderState{},
			unsettled: map[int]time.Time{}, idleLock: map[int]time.Time{},
		}
		began := time.Now()
		signed.repo.SetMain(signed.before)
		calm := *s
		calm.events = nil
		p.scenario = &calm
		p.changes, p.calm = 1, time.Minute
		time.Sleep(haMoment)
		p.start(t)
		p.run(t, nil, nil)
		if !p.isGreen() {
			p.violate("before the path: %s", p.describe())
		}
		if p.violation == "" {
			time.Sleep(haBegin - time.Since(began)%haBegin)
			p.trace, p.scenario, p.changes, p.calm = nil, s, 1, 3*time.Minute
			for _, service := range p.world.services {
				service.moves = 0
			}
			if s.begin != nil {
				s.begin(p.world)
			}
			signed.repo.SetMain(signed.change)
			p.agent.engine.Hint()
			options = p.run(t, choices, widths)
		}
		if p.violation == "" {
			p.finish(t)
		}
		p.stop()
	})
	return p, options
}

// search runs every path, depth first, until one violates what must hold, or until limit paths were run; 0 is no limit.
func (s *haScenario) search(t *testing.T, limit int) found {
	t.Helper()
	signed := s.sign(t)
	f := found{}
	var widths []int
	for choices := []int{}; ; {
		p, options := s.path(t, signed, choices, widths)
		widths = options
		f.paths++
		choices = append(choices, make([]int, max(0, len(options)-len(choices)))...)[:len(options)]
		if p.violation != "" {
			f.violation, f.trace, f.choices = p.violation, p.trace, choices
			return f
		}
		for len(choices) > 0 && choices[len(choices)-1]+1 >= options[len(choices)-1] {
			choices = choices[:len(choices)-1]
		}
		if len(choices) == 0 {
			f.complete = true
			return f
		}
		choices[len(choices)-1]++
		choices = slices.Clone(choices)
		if limit > 0 && f.paths >= limit {
			return f
		}
	}
}
