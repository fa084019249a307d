package reconcile_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

var guardSeeds = newSeeds("guard", 3, "random histories of pushes")

// pushesPerHistory is the number of pushes of one history.
const pushesPerHistory = 36

// pusher is a history of random pushes, and what it found.
type pusher struct {
	*lab
	rng     *rand.Rand
	people  map[sigtest.Identity]person
	digests []string           // of every held step that was ever shown
	shown   map[string]*asked  // weakenings, by digest
	guests  map[string]*random // by file
	class   random
	always  random // the defaults
	number  int    // guards.approvals
	limit   int    // guards.maxDestroysPerDay

	weakened, destroys, moved, adopted int
}

// person is a signer: who it is, and what it may do.
type person struct {
	name            string
	changes, judges bool
}

// random is a spec with random guards.
type random struct {
	vmid  int // 0 in a class
	name  string
	lines []string
	class bool
	gone  bool // the manifest is removed
}

// strangerVMID is a protected guest that a person made, which manifests may adopt.
const strangerVMID = 205

// windows are sorted: each one is open whenever the one before it is.
var windows = []string{"Sat 02:00-03:00 UTC", "Sat 02:00-05:00 UTC", "Sat,Sun 02:00-05:00 UTC", "daily 01:00-06:00 UTC"}

// lines returns random guards.
func (p *pusher) lines(inGuest bool) []string {
	pick := func(words ...string) string { return words[p.rng.IntN(len(words))] }
	var fields, out []string
	add := func(chance int, text string) {
		if p.rng.IntN(chance) == 0 {
			fields = append(fields, text)
		}
	}
	add(2, "destroy: "+pick("deny", "approve", "allow"))
	add(3, "recreate: "+pick("deny", "approve", "allow"))
	add(3, "shutdownTimeout: "+pick("30s", "3m", "10m"))
	add(4, "forceStop: "+pick("true", "false"))
	add(3, "protection: "+pick("true", "false"))
	switch p.rng.IntN(4) {
	case 0:
		fields = append(fields, "rebootPolicy: window", `window: "`+pick(windows...)+`"`)
	case 1:
		if inGuest { // a class with a window and a guest with another policy do not fit together
			fields = append(fields, "rebootPolicy: "+pick("never", "approve", "auto"), "window: null")
		}
	}
	if len(fields) > 0 {
		out = append(out, "lifecycle: {"+strings.Join(fields, ", ")+"}")
	}
	if p.rng.IntN(5) == 0 {
		out = append(out, "mode: "+pick("observe", "enforce"))
	}
	if p.rng.IntN(5) == 0 {
		until := ""
		if days := p.rng.IntN(4); days > 0 {
			until = `, until: "` + time.Now().Add(time.Duration(days)*20*time.Minute).UTC().Format(time.RFC3339) + `"`
		}
		out = append(out, "suspend: {reason: random"+until+"}")
	}
	if inGuest && p.rng.IntN(5) == 0 {
		out = append(out, "adopt: "+pick("deny", "ifUnmanaged"))
	}
	if p.rng.IntN(6) == 0 {
		out = append(out, "ignoreFields: [lifecycle.protection]")
	}
	return out
}

// mutate changes the manifests at random.
func (p *pusher) mutate() {
	files := slices.Sorted(maps.Keys(p.guests))
	g := p.guests[files[p.rng.IntN(len(files))]]
	switch p.rng.IntN(10) {
	case 0, 1, 2:
		g.lines = p.lines(true)
	case 3:
		g.class = !g.class
	case 4:
		g.gone = !g.gone
	case 5:
		g.name = fmt.Sprintf("guest-%d-%d", g.vmid%10, p.rng.IntN(3))
	case 6:
		p.class.lines = p.lines(false)
	case 7:
		p.always.lines = p.lines(false)
	case 8:
		p.number, p.limit = 1+p.rng.IntN(3), p.rng.IntN(4)
	case 9:
		if g.vmid != strangerVMID { // a guest that no agent made has one vmid
			g.vmid += map[bool]int{true: 10, false: -10}[g.vmid < 210]
		}
	}
	cluster := []string{fmt.Sprintf("guards: {approvals: %d, maxDestroysPerDay: %d}", p.number, p.limit)}
	if len(p.always.lines) > 0 {
		cluster = append(cluster, "defaults:", "  virtualMachine:")
		for _, line := range p.always.lines {
			cluster = append(cluster, "    "+line)
		}
	}
	p.files["cluster.yaml"] = clusterWith(cluster...)
	p.files["class.yaml"] = classYAML + "    wave: 0\n" + indented(indentedTwice(p.class.lines))
	for file, g := range p.guests {
		if delete(p.files, file); !g.gone {
			lines := g.lines
			if g.class {
				lines = append([]string{"class: [kept]"}, lines...)
			}
			p.files[file] = vmYAML(g.name, g.vmid, lines...)
		}
	}
}

func indentedTwice(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		out = append(out, "  "+line)
	}
	return out
}

// someone returns a signer of whom the condition holds, or any other one now and then.
func (p *pusher) someone(suits func(person) bool) sigtest.Identity {
	all := slices.SortedFunc(maps.Keys(p.people), func(a, b sigtest.Identity) int { return strings.Compare(a.Issuer+a.Subject, b.Issuer+b.Subject) })
	for {
		who := all[p.rng.IntN(len(all))]
		if suits(p.people[who]) {
			return who
		}
	}
}

// push pushes a change, or an approval of a digest: of one that is shown now, of an older one, or of none.
func (p *pusher) act(held []string) {
	if p.rng.IntN(5) < 2 || len(p.digests) == 0 {
		p.mutate()
		who := p.someone(func(w person) bool { return w.changes && (!p.opts.Separate || w.name == "alice") })
		p.waitForAcceptance(p.push("a change", who))
		return
	}
	digest := p.digests[p.rng.IntN(len(p.digests))]
	switch n := p.rng.IntN(10); {
	case n == 0:
		digest = strings.Repeat("0", 32)
	case n > 2 && len(held) > 0:
		digest = held[p.rng.IntN(len(held))]
	}
	for range 1 + p.rng.IntN(3) {
		p.waitForAcceptance(p.push(approve(digest), p.someone(func(w person) bool { return w.judges || p.rng.IntN(4) == 0 })))
	}
}

// heldNow returns the digests of the steps that are held, and remembers them.
func (p *pusher) heldNow() []string {
	var now []string
	r := p.engine.Report()
	note := func(digest string) {
		if digest == "" {
			return
		}
		if !slices.Contains(now, digest) {
			now = append(now, digest)
		}
		if !slices.Contains(p.digests, digest) {
			p.digests = append(p.digests, digest)
		}
	}
	seen := map[string]map[int]string{}
	for _, g := range r.Guests {
		for _, h := range g.Held {
			note(h.Digest)
			if h.Op == plan.OpWeaken {
				p.understand(seen, h, g.VMID)
			}
		}
	}
	if r.Guards != nil {
		for _, h := range r.Guards.Held {
			note(h.Digest)
			p.understand(seen, h, 0)
		}
	}
	p.compareDigests(seen)
	return now
}

// guardRanks are the guards as numbers that grow as the guard becomes weaker. The test has its own order, and does not use that of the agent.
func guardRanks(g journal.Guarded, now time.Time) map[string]int {
	words := map[string]int{"deny": 1, "approve": 2, "allow": 3, "never": 1, "window": 3, "auto": 9, "on": 0, "off": 1, "": 1}
	ranks := map[string]int{
		"lifecycle.destroy": words[g.Destroy], "lifecycle.recreate": words[g.Recreate], "lifecycle.rebootPolicy": words[g.Rules.RebootPolicy],
		"lifecycle.protection": words[g.Rules.Protection], "lifecycle.shutdownTimeout": -g.Rules.ShutdownSeconds, "lifecycle.forceStop": 0,
		"mode": 1, "suspend": 1 << 30, "adopt": 0, "vmid": g.Rules.MovedTo,
	}
	if g.Rules.RebootPolicy == "window" {
		ranks["lifecycle.rebootPolicy"] += slices.Index(windows, g.Rules.Window)
	}
	if g.Rules.ForceStop {
		ranks["lifecycle.forceStop"] = 1
	}
	if g.Rules.Mode == "observe" {
		ranks["mode"] = 0
	}
	if g.Rules.Adopt != "" {
		ranks["adopt"] = 1
	}
	switch until, err := time.Parse(time.RFC3339, g.Rules.Suspended); {
	case g.Rules.Suspended == "without end":
		ranks["suspend"] = 0
	case err == nil && until.After(now):
		ranks["suspend"] = 1<<30 - int(until.Unix())/60 // later is stronger
	}
	return ranks
}

// guardTexts are the guards as a person reads them who approves that one changes.
func guardTexts(g journal.Guarded) map[string]string {
	or := func(text, otherwise string) string {
		if text == "" {
			return otherwise
		}
		return text
	}
	texts := map[string]string{
		"lifecycle.destroy": g.Destroy, "lifecycle.recreate": g.Recreate, "lifecycle.rebootPolicy": strings.TrimSuffix(g.Rules.RebootPolicy+" "+g.Rules.Window, " "),
		"lifecycle.protection": or(g.Rules.Protection, "unmanaged"), "lifecycle.shutdownTimeout": (time.Duration(g.Rules.ShutdownSeconds) * time.Second).String(),
		"lifecycle.forceStop": strconv.FormatBool(g.Rules.ForceStop), "mode": or(g.Rules.Mode, "enforce"), "suspend": or(g.Rules.Suspended, "none"),
		"adopt": or(g.Rules.Adopt, "deny"), "vmid": strconv.Itoa(g.VMID),
	}
	if strings.Contains(g.Rules.Suspended, ":") {
		texts["suspend"] = "until " + g.Rules.Suspended
	}
	if g.Rules.MovedTo != 0 {
		texts["vmid"] = strconv.Itoa(g.Rules.MovedTo)
	}
	return texts
}

// asked is what a shown digest stands for.
type asked struct {
	field, old, new string
	vmids           []int // sorted; 0 is the Cluster
}

// understand reads the held weakening of a guest, or of the Cluster, as a person does.
func (p *pusher) understand(seen map[string]map[int]string, h report.HeldStep, vmid int) {
	text, _ := strings.CutPrefix(h.Message, "the manifest weakens ")
	field, values, _ := strings.Cut(text, ": ")
	old, next, ok := strings.Cut(values, " -> ")
	next, _, _ = strings.Cut(next, "; the old value stays in force")
	next, _, _ = strings.Cut(next, ", together with ")
	next, _, _ = strings.Cut(next, " (")
	if !ok {
		p.Errorf("got message %q, want the field and both values", h.Message)
	}
	is := p.shown[h.Digest]
	if is == nil {
		is = &asked{field: field, old: old, new: next}
		p.shown[h.Digest] = is
	}
	if is.field != field || is.old != old || is.new != next {
		p.Errorf("got digest %s for %q and for %+v, want one weakening", h.Digest, h.Message, is)
	}
	if seen[h.Digest] == nil {
		seen[h.Digest] = map[int]string{}
	}
	state := p.journal.State()
	seen[h.Digest][vmid] = cmp.Or(state.Owned[vmid].Identity, state.Guarded[vmid].Identity)
}

// compareDigests computes the digests of the weakenings that are shown from the guests that show them: nothing else may be approved with them.
func (p *pusher) compareDigests(seen map[string]map[int]string) {
	for digest, identities := range seen {
		is := p.shown[digest]
		is.vmids = slices.Sorted(maps.Keys(identities))
		var guests []string
		for _, vmid := range is.vmids {
			if vmid != 0 {
				guests = append(guests, fmt.Sprintf(`{"vmid":%d,"identity":%q}`, vmid, identities[vmid]))
			}
		}
		list := ""
		if len(guests) > 0 {
			list = `"guests":[` + strings.Join(guests, ",") + `],`
		}
		sum := sha256.Sum256(fmt.Appendf(nil, `{"weakens":%q,"cluster":"home",%s"old":%q,"new":%q}`, is.field, list, is.old, is.new))
		if want := hex.EncodeToString(sum[:16]); want != digest {
			p.Errorf("got digest %s for %+v of %v, want %s", digest, is, identities, want)
		}
	}
}

// count returns how many people count for a weakening: with separateApprover not alice, who makes all changes of such a history.
func (p *pusher) count(people []string) int {
	if p.opts.Separate {
		people = slices.DeleteFunc(slices.Clone(people), func(name string) bool { return name == "alice" })
	}
	return len(people)
}

// approvers returns the people whose approvals were used up between two states, by digest.
func (p *pusher) approvers(before, after journal.State) map[string][]string {
	people := map[string][]string{}
	for key, o := range after.Orders {
		if o.State != journal.OrderRun && o.State != journal.OrderUnknown || before.Orders[key].State == o.State {
			continue
		}
		digest := strings.TrimPrefix(o.Order, "Gitops-Approve: ")
		who := p.people[sigtest.Identity{Subject: o.Subject, Issuer: o.Issuer}]
		if !who.judges {
			p.Errorf("got an approval of %s used up, who may not approve", who.name)
		}
		if !slices.Contains(people[digest], who.name) {
			people[digest] = append(people[digest], who.name)
		}
	}
	return people
}

// check compares the guards in force before and after a push.
func (p *pusher) check(before, after journal.State, destroyed map[int]int, at time.Time) {
	required := max(before.ClusterGuards.Approvals, p.opts.Minimum.Approvals, 1)
	approvals := p.approvers(before, after)
	allowed := func(want asked, vmid int) bool {
		for digest, people := range approvals {
			is := p.shown[digest]
			if is != nil && is.field == want.field && is.old == want.old && is.new == want.new && slices.Contains(is.vmids, vmid) && p.count(people) >= required {
				return true
			}
		}
		return false
	}
	weaken := func(want asked, vmid int, record string) {
		p.weakened++
		if !allowed(want, vmid) {
			p.Errorf("got %s of %d weakened from %q to %q with approvals %v, want %d people for exactly that: %s", want.field, vmid, want.old, want.new, approvals, required, record)
		}
	}
	for vmid, old := range before.Guarded {
		owned, isOwned := before.Owned[vmid]
		p.checkMove(before, after, vmid)
		if now := after.Owned[vmid]; !isOwned || now.Identity != owned.Identity || owned.Claiming {
			continue
		}
		next := after.Guarded[vmid]
		ranks, ranksBefore, texts, textsBefore := guardRanks(next, at), guardRanks(old, at), guardTexts(next), guardTexts(old)
		for field, rank := range ranks {
			if rank > ranksBefore[field] {
				weaken(asked{field: field, old: textsBefore[field], new: texts[field]}, vmid, fmt.Sprintf("%+v -> %+v", old, next))
			}
		}
	}
	p.checkAdopted(before, after)
	was, now := before.ClusterGuards, after.ClusterGuards
	if now.Approvals < was.Approvals {
		weaken(asked{field: "guards.approvals", old: strconv.Itoa(was.Approvals), new: strconv.Itoa(now.Approvals)}, 0, "of the Cluster")
	}
	if now.MaxDestroysPerDay > was.MaxDestroysPerDay {
		weaken(asked{field: "guards.maxDestroysPerDay", old: strconv.Itoa(was.MaxDestroysPerDay), new: strconv.Itoa(now.MaxDestroysPerDay)}, 0, "of the Cluster")
	}
	for vmid, n := range destroyed {
		if p.sim.Effects(vmid, pvesim.Destroyed) == n {
			continue
		}
		p.destroys++
		g := before.Guarded[vmid]
		free := g.Destroy == "allow" && g.Rules.Mode == "" && g.Rules.Suspended == ""
		if !free && !slices.ContainsFunc(slices.Collect(maps.Values(approvals)), func(people []string) bool { return len(people) >= required }) {
			p.Errorf("got %d destroyed with approvals %v and guards %+v", vmid, approvals, g)
		}
	}
}

// checkAdopted fails if a guest was adopted with a guard that is weaker than those of an adopted guest.
func (p *pusher) checkAdopted(before, after journal.State) {
	for vmid, owned := range after.Owned {
		if _, known := before.Owned[vmid]; known || owned.Origin != journal.Adopted {
			continue
		}
		p.adopted++
		if g := after.Guarded[vmid]; g.Destroy == "allow" || g.Rules.Protection == "off" {
			p.Errorf("got %d adopted with guards %+v, want destroy: approve and its own protection", vmid, g)
		}
	}
}

// checkMove fails if the label of an owned guest got another guest under another vmid, although its manifest was not approved to leave the vmid.
func (p *pusher) checkMove(before, after journal.State, vmid int) {
	was, isOwned := before.Owned[vmid]
	if !isOwned || was.Claiming && was.Origin == journal.Created {
		return
	}
	for other, now := range after.Owned {
		if _, known := before.Owned[other]; known || now.Kind != was.Kind || now.Name != was.Name || other == vmid {
			continue
		}
		p.moved++
		if before.Guarded[vmid].Rules.MovedTo != other && after.Guarded[vmid].Rules.MovedTo != other {
			p.Errorf("got %s as %d, want it to stay %d until another vmid is approved: %+v", was.Name, other, vmid, before.Guarded[vmid])
		}
	}
}

// TestGuardsNeverWeakenAlone runs random histories of signed pushes by several people: random guards in manifests, a class, the defaults and the Cluster,
// new labels, other vmids, adoption, removed and restored manifests, approvals of present, older and unknown digests by people with and without the role. The guards in force
// never become weaker without the number of approvals that the guards before required, and no guest is destroyed without that.
func TestGuardsNeverWeakenAlone(t *testing.T) {
	t.Parallel()
	var attempted, weakened, destroyed, moved, adopted atomic.Int64
	guardSeeds.each(t, func(t *testing.T, seed uint64) {
		runLab(t, nil, func(_ *testing.T, l *lab) {
			p := newPusher(l, seed)
			p.run()
			attempted.Add(int64(len(p.shown)))
			weakened.Add(int64(p.weakened))
			destroyed.Add(int64(p.destroys))
			moved.Add(int64(p.moved))
			adopted.Add(int64(p.adopted))
		})
	}, func(t *testing.T) string {
		if attempted.Load() < 3*int64(*guardSeeds.count) || weakened.Load() == 0 || moved.Load() == 0 {
			t.Errorf("got %d weaker guards asked for, %d approved and %d guests moved, want histories that try all", attempted.Load(), weakened.Load(), moved.Load())
		}
		return fmt.Sprintf("%d pushes each, %d weaker guards asked for, %d approved, %d guests destroyed, %d moved, %d adopted", pushesPerHistory, attempted.Load(), weakened.Load(), destroyed.Load(), moved.Load(), adopted.Load())
	})
}

// newPusher returns a history with random roles: alice always changes, olga and pia approve, and the others have any roles. Olga signs under two issuers.
func newPusher(l *lab, seed uint64) *pusher {
	p := &pusher{
		lab: l, rng: rand.New(rand.NewPCG(seed, 11)), people: map[sigtest.Identity]person{}, shown: map[string]*asked{}, guests: map[string]*random{}, number: 2, limit: 2,
	}
	elsewhere := sigtest.Identity{Subject: olga.Subject, Issuer: "https://other.test"}
	eve, bob := sigtest.Identity{Subject: "eve@lab.test", Issuer: alice.Issuer}, sigtest.Identity{Subject: "bob@lab.test", Issuer: alice.Issuer}
	p.people[alice] = person{"alice", true, p.rng.IntN(2) == 0}
	p.people[olga], p.people[elsewhere] = person{"olga", false, true}, person{"olga", false, true}
	p.people[pia] = person{"pia", p.rng.IntN(2) == 0, true}
	p.people[eve], p.people[bob] = person{"eve", true, false}, person{"bob", p.rng.IntN(2) == 0, p.rng.IntN(2) == 0}
	var signers []verify.Signer
	for who, is := range p.people {
		s := verify.Signer{Name: is.name, Issuer: who.Issuer, Subject: who.Subject}
		if is.changes {
			s.May = append(s.May, verify.RoleChange)
		}
		if is.judges {
			s.May = append(s.May, verify.RoleApprove)
		}
		if len(s.May) == 0 {
			s.May = []verify.Role{verify.RoleOperate}
		}
		signers = append(signers, s)
	}
	l.trustSigners(signers...)
	for i := range 3 {
		p.guests[fmt.Sprintf("guest-%d.yaml", i)] = &random{vmid: 201 + i, name: fmt.Sprintf("guest-%d-0", i+1), class: i > 0}
	}
	p.guests["guest-9.yaml"] = &random{vmid: strangerVMID, name: "foreign-1", lines: []string{"adopt: ifUnmanaged", "lifecycle: {destroy: allow, protection: false}"}}
	l.files["keep.yaml"] = vmYAML("keep-1", 209)
	_, err := l.sim.AddVM(pvesim.Guest{VMID: strangerVMID, Config: "name: foreign-1\nmemory: 1024\nprotection: 1\n"})
	l.ok(err)
	l.opts.Separate = seed%2 == 1
	if seed%3 == 2 {
		l.opts.Minimum = guard.Minimum{Approvals: 2, Destroy: guest.Approve, RebootPolicy: guest.RebootApprove}
	}
	return p
}

// run makes the pushes, and checks the guards after each.
func (p *pusher) run() {
	p.mutate()
	p.push("the first", alice)
	defer p.start()()
	eventually(p.lab, "the first revision", func() bool { return p.journal.State().ClusterGuards != nil && p.engine.Report().Source.Accepted != nil })
	time.Sleep(5 * time.Minute)
	p.checkAdopted(journal.State{}, p.journal.State())
	for n := range pushesPerHistory {
		if n == pushesPerHistory/2 {
			p.beginMove()
		}
		held := p.heldNow()
		before, destroyed := p.journal.State(), map[int]int{}
		for _, g := range p.guests {
			destroyed[g.vmid] = p.sim.Effects(g.vmid, pvesim.Destroyed)
		}
		if n >= pushesPerHistory/2 && n < pushesPerHistory/2+3 {
			p.judgeMove()
		} else {
			p.act(held)
		}
		time.Sleep(5 * time.Minute)
		p.heldNow()
		if p.Failed() {
			return
		}
		p.check(before, p.journal.State(), destroyed, time.Now()) // a suspension that ended meanwhile may be gone
	}
}

// beginMove gives a guest that changes nothing else another vmid, so that each history has a move.
func (p *pusher) beginMove() {
	p.files["keep.yaml"] = vmYAML("keep-1", 219)
	p.waitForAcceptance(p.push("another vmid", alice))
	time.Sleep(5 * time.Minute)
}

// judgeMove approves the move as one person after the other.
func (p *pusher) judgeMove() {
	p.heldNow()
	for _, digest := range p.digests {
		if is := p.shown[digest]; is != nil && is.field == "vmid" && is.new == "219" {
			p.waitForAcceptance(p.push(approve(digest), p.someone(func(w person) bool { return w.judges && w.name != "alice" })))
			return
		}
	}
}
