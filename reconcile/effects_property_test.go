package reconcile_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/pvesim/effect"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

var effectSeeds = newSeeds("effect", 3, "random histories of pushes without enough approvals")

// pushesPerEffectHistory is the number of polls of one history.
const pushesPerEffectHistory = 12

// TestGuardedEffectsStay runs random histories of pushes by signers with and without a scope, without enough approvals: nobody approves, one person approves where two are needed, or the
// author approves although separateApprover is on. What guards protect stays as it was: the restore points that would be kept, the packets that pass, the guests and their protection, and
// the number of people who must approve. Effects are computed from the simulated cluster by package effect.
func TestGuardedEffectsStay(t *testing.T) {
	t.Parallel()
	var polls, accepted, compared, changed atomic.Int64
	var mu sync.Mutex
	reached := map[string]int{}
	effectSeeds.each(t, func(t *testing.T, seed uint64) {
		runLabOn(t, pvesim.Options{Storages: effectStorages()}, func(_ *testing.T, l *lab) {
			h := newEffectHistory(l, seed)
			h.run()
			polls.Add(int64(h.polls))
			accepted.Add(int64(h.accepted))
			compared.Add(int64(h.compared))
			changed.Add(int64(h.changed))
			mu.Lock()
			defer mu.Unlock()
			for situation, n := range h.reached {
				reached[situation] += n
			}
		})
	}, func(t *testing.T) string {
		if n := int64(*effectSeeds.count); accepted.Load() < 8*n || compared.Load() < 20*n || changed.Load() < n {
			t.Errorf("got %d pushes accepted, %d effects compared and %d changes of the cluster in %d histories, want more: the property checks too little", accepted.Load(), compared.Load(), changed.Load(), n)
		}
		if *effectSeeds.count >= manyEffectHistories {
			for _, situation := range situations() {
				if reached[situation] == 0 {
					t.Errorf("got no history with %q, want every situation reached (%v)", situation, reached)
				}
			}
		}
		return fmt.Sprintf("%d polls, %d accepted, %d guarded effects compared, %d changes of the cluster", polls.Load(), accepted.Load(), compared.Load(), changed.Load())
	})
}

// manyEffectHistories is the number of histories from which each situation must be reached.
const manyEffectHistories = 30

// effectStorages are storages that have nothing in common.
func effectStorages() []pvesim.Storage {
	all := make([]pvesim.Storage, 3)
	for i, id := range []string{"local", "local2", "local3"} {
		all[i] = pvesim.Storage{ID: id, Type: "dir", Path: "/var/lib/" + id, Content: "images,rootdir,iso,vztmpl,import,snippets,backup"}
	}
	return all
}

// situations are what histories have to reach: changes by their kind, held steps by the kind of their object, guarded effects that were compared, and ways to push.
func situations() []string {
	var all []string
	for prefix, words := range map[string]string{
		"change": "backup guarded rules policyIn cards label lifecycle removal disk memory mode policy approvals class alias set group job foreign",
		"held":   "VirtualMachine BackupJob Alias IPSet SecurityGroup Cluster", "compared": "backup firewall protection observe destroy policy",
		"push": "several scoped by-names approved",
	} {
		for word := range strings.FieldsSeq(words) {
			all = append(all, prefix+" "+word)
		}
	}
	return all
}

// guarded is a guest of a history: what its manifest says.
type guarded struct {
	name, folder     string
	vmid             int
	tier, pool       string
	backup, wall     bool
	protection       string // true, false, or "" for none
	destroy          string
	card, card1      string // firewall flags: "true", "false"; card1 "" is no second card
	policyIn         string
	rules            []string
	ownAlias         string
	excluded         bool // a disk is left out of backups
	class, gone, obs bool
}

// asks are the guards that a guest has by all manifests so far.
type asks struct {
	backup, wall, protection bool
	destroy                  int // index in permissions, from allow
	observe                  bool
}

var permissions = []string{"allow", "approve", "deny"}

// effectHistory is one random history.
type effectHistory struct {
	*lab
	rng     *rand.Rand
	people  []effectSigner
	guests  []*guarded
	objects map[string]string // file to manifest; "" is removed
	class   []string          // lines of the class kept
	number  int               // guards.approvals
	bounds  map[string]int    // memory bounds in GiB of policies, by file; 0 is removed
	memory  map[int]int       // GiB wanted, by vmid

	inForce  map[int]asks
	approves func() // gives the approvals that are not enough
	was      clusterState
	bound    map[string]int // of policies in force

	polls, accepted, compared, changed int

	reached map[string]int // by situation
}

// count counts an effect that was compared.
func (h *effectHistory) count(effect string) {
	h.compared++
	h.reached["compared "+effect]++
}

// effectSigner is a signer and what it may change.
type effectSigner struct {
	who    sigtest.Identity
	scoped bool // it changes only what is in the folder web, or is called web-
	guests bool // by names instead of paths
}

func newEffectHistory(l *lab, seed uint64) *effectHistory {
	l.grant("Sys.Modify", "Datastore.Allocate", "Pool.Allocate", "VM.Allocate")
	h := &effectHistory{lab: l, rng: rand.New(rand.NewPCG(seed, 46)), objects: map[string]string{}, number: 2, bounds: map[string]int{}, memory: map[int]int{}, inForce: map[int]asks{}, bound: map[string]int{}, reached: map[string]int{}}
	bob := sigtest.Identity{Subject: "bob@lab.test", Issuer: alice.Issuer}
	scoped := effectSigner{who: wanda, scoped: true, guests: h.rng.IntN(2) == 0}
	h.people = []effectSigner{{who: alice}, {who: bob}, scoped}
	limited := verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Paths: []string{"web"}}
	if scoped.guests {
		limited.Paths, limited.Guests = nil, []string{"*/web-*"}
	}
	bobs := verify.Signer{Name: "bob", Issuer: bob.Issuer, Subject: bob.Subject, May: []verify.Role{verify.RoleChange}}
	olgas := verify.Signer{Name: "olga", Issuer: olga.Issuer, Subject: olga.Subject, May: approveOnly}
	h.approves = func() {}
	switch seed % 3 {
	case 1: // one person approves everything, where two are needed
		h.approves = func() { h.approveAllHeld(olga) }
	case 2: // bob approves everything that bob wrote
		l.opts.Separate, h.number = true, 1
		bobs.May = append(bobs.May, verify.RoleApprove)
		h.people = []effectSigner{{who: bob}}
		h.approves = func() { h.approveAllHeld(bob) }
	}
	l.trustSigners(aliceMay(), bobs, limited, olgas)
	l.sim.AddPool("prod", "")
	l.sim.AddPool("lab", "")
	for i, name := range []string{"web-1", "db-1", "app-1", "free-1"} {
		folder := map[bool]string{true: "web", false: "db"}[i == 0]
		g := &guarded{name: name, folder: folder, vmid: 201 + i, tier: "a", pool: "prod", destroy: "approve", card: "true", policyIn: "DROP"}
		h.guests = append(h.guests, g)
		h.memory[g.vmid] = 1
	}
	db, app := h.guests[1], h.guests[2] // the last one has no guards, and is not in the scope of wanda
	db.backup, db.wall, db.rules, db.ownAlias = true, true, []string{"{type: in, action: ACCEPT, source: dc/web-net, protocol: tcp, port: 80}", "{group: web-group}"}, "10.0.0.1"
	app.backup, app.protection, app.destroy = true, "true", "deny"
	h.objects["web/net.yaml"] = objectYAML("Alias", "web-net", "cidr: 10.0.0.0/30")
	h.objects["web/set.yaml"] = objectYAML("IPSet", "web-set", "entries: [{cidr: 10.0.0.0/24}, {cidr: 10.0.0.1, noMatch: true}]")
	h.objects["web/group.yaml"] = objectYAML("SecurityGroup", "web-group", "rules: [{type: in, action: DROP, source: +dc/web-set}, {type: in, action: ACCEPT, macro: SSH}]")
	h.objects["db/nightly.yaml"] = objectYAML("BackupJob", "nightly", "schedule: daily, storage: local, guests: {vmids: [202]}, retention: {keepDaily: 7}")
	h.objects["db/free.yaml"] = objectYAML("BackupJob", "free", "schedule: daily, storage: local3, guests: {vmids: [204]}, retention: {keepDaily: 7}")
	h.objects["db/hourly.yaml"] = objectYAML("BackupJob", "hourly", "schedule: hourly, storage: local2, guests: {pool: prod}, retention: {keepLast: 9}")
	return h
}

// objectYAML returns the manifest of an object.
func objectYAML(kind, name, spec string) string {
	return "apiVersion: proxmox.gitops/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
}

func (h *effectHistory) pick(words ...string) string { return words[h.rng.IntN(len(words))] }

// write writes the manifests.
func (h *effectHistory) write() {
	clear(h.files)
	h.files["cluster.yaml"] = clusterWith(fmt.Sprintf("guards: {approvals: %d, maxDestroysPerDay: 5}", h.number))
	h.files["class.yaml"] = classYAML + "    wave: 0\n" + indented(indentedTwice(h.class))
	for file, text := range h.objects {
		if text != "" {
			h.files[file] = text
		}
	}
	for file, bound := range h.bounds {
		name := strings.TrimSuffix(file[strings.LastIndex(file, "/")+1:], ".yaml")
		if bound > 0 {
			h.files[file] = policyYAML(name, fmt.Sprintf("new.memory > %d * 1024 * 1024 * 1024", bound))
		}
	}
	for _, g := range h.guests {
		if !g.gone {
			h.files[g.folder+"/"+g.name+".yaml"] = h.manifest(g)
		}
	}
}

func (h *effectHistory) manifest(g *guarded) string {
	lifecycle := []string{"destroy: " + g.destroy}
	if g.protection != "" {
		lifecycle = append(lifecycle, "protection: "+g.protection)
	}
	lines := []string{fmt.Sprintf("memory: {size: %dGi}", h.memory[g.vmid]), "pool: " + g.pool, "lifecycle: {" + strings.Join(lifecycle, ", ") + "}"}
	cards := "net0: {bridge: vmbr0, firewall: " + g.card + "}"
	if g.card1 != "" {
		cards += ", net1: {bridge: vmbr0, firewall: " + g.card1 + "}"
	}
	lines = append(lines, "networks: {"+cards+"}")
	if g.backup {
		lines = append(lines, "backup: required")
	}
	if g.obs {
		lines = append(lines, "mode: observe")
	}
	if g.class {
		lines = append(lines, "class: [kept]")
	}
	if g.excluded {
		lines = append(lines, "disks: {scsi0: {backup: false}}")
	}
	if g.wall || len(g.rules) > 0 {
		lines = append(lines, "firewall:", fmt.Sprintf("  guarded: %t", g.wall), "  enable: true", "  policyIn: "+g.policyIn, "  rules: ["+strings.Join(g.rules, ", ")+"]")
		if g.ownAlias != "" {
			lines = append(lines, "  aliases: {own: {cidr: "+g.ownAlias+"}}")
		}
	}
	return strings.Replace(vmYAML(g.name, g.vmid, lines...), "{name: "+g.name+"}", "{name: "+g.name+", labels: {tier: "+g.tier+"}}", 1)
}

func (h *effectHistory) address() string {
	return h.pick("10.0.0.0/30", "10.0.0.0/24", "10.0.0.1", "10.0.0.2", "10.0.1.0/24", "10.0.0.0/16")
}

func (h *effectHistory) rule(named bool) string {
	action, source := h.pick("ACCEPT", "DROP", "DROP"), h.pick("", "10.0.0.1", "10.0.0.0/30", "dc/web-net", "+dc/web-set")
	if named {
		source = h.pick(source, "own", "dc/web-net", "+dc/web-set")
	}
	fields := []string{"type: " + h.pick("in", "in", "in", "out"), "action: " + action}
	if strings.HasPrefix(fields[0], "type: out") {
		if source != "" {
			fields = append(fields, `dest: "`+source+`"`)
		}
	} else if source != "" {
		fields = append(fields, `source: "`+source+`"`)
	}
	switch h.rng.IntN(4) {
	case 0:
		fields = append(fields, "protocol: tcp", "port: "+h.pick("80", "443"))
	case 1:
		fields = append(fields, "macro: SSH")
	case 2:
		fields = append(fields, "enable: "+h.pick("true", "false"))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (h *effectHistory) edited(rules []string, named bool) []string {
	rules = slices.Clone(rules)
	at := h.rng.IntN(len(rules) + 1)
	switch n := h.rng.IntN(5); {
	case n < 2:
		return slices.Insert(rules, at, h.rule(named))
	case n == 2 && at < len(rules):
		return slices.Delete(rules, at, at+1)
	case n == 3 && at < len(rules):
		rules[at] = h.rule(named)
	case n == 4 && at > 0 && at < len(rules):
		rules[0], rules[at] = rules[at], rules[0]
	}
	return rules
}

// uniqueRules drops rules that are there twice, which are refused.
func uniqueRules(rules []string) []string {
	var out []string
	for _, r := range rules {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

func (h *effectHistory) job() string {
	guests := h.pick("vmids: [202]", "vmids: [202, 203]", "vmids: [201]", "labels: {tier: a}", "labels: {tier: b}", "pool: prod", "pool: lab", "all: true", "all: true, except: [202]", "vmids: [204]")
	spec := "schedule: " + h.pick("hourly", "daily", "daily", "sat") + ", storage: " + h.pick("local", "local", "local2", "local3") + ", guests: {" + guests + "}, retention: {" + h.pick("keepLast: 1", "keepLast: 30", "keepDaily: 7", "keepDaily: 9, keepLast: 2", "keepAll: true") + "}"
	return spec + h.pick("", "", "", ", enabled: false", ", prune: false", ", bandwidthLimit: 1", ", lifecycle: {destroy: allow}")
}

// change changes the manifests at random, as a signer may, and returns what it did.
func (h *effectHistory) change(by effectSigner) string {
	g := h.guests[0]
	if !by.scoped {
		g = h.guests[h.rng.IntN(3)]
	}
	if by.guests && h.rng.IntN(2) == 0 { // a job that also backs up guests of others
		selects := h.pick("vmids: [204]", "vmids: [201, 204]", "vmids: [201, 202, 204]", "labels: {tier: a}", "pool: prod", "all: true", "all: true, except: [202]")
		h.objects["web/job.yaml"] = objectYAML("BackupJob", "web-job", "schedule: hourly, storage: local3, guests: {"+selects+"}, retention: {keepLast: 1}")
		h.reached["change foreign"]++
		return "web/job.yaml " + selects
	}
	switch n := h.rng.IntN(20); n {
	case 0:
		g.backup = !g.backup
		h.reached["change backup"]++
		return g.name + " backup"
	case 1:
		g.wall = !g.wall
		h.reached["change guarded"]++
		return g.name + " guarded"
	case 2, 3:
		g.rules = uniqueRules(h.edited(g.rules, g.ownAlias != ""))
		h.reached["change rules"]++
		return g.name + " rules " + strings.Join(g.rules, " ")
	case 4:
		g.policyIn = h.pick("DROP", "REJECT", "ACCEPT")
		h.reached["change policyIn"]++
		return g.name + " policy"
	case 5:
		g.card, g.card1 = h.pick("true", "true", "false"), h.pick("", "true", "false")
		h.reached["change cards"]++
		return g.name + " cards"
	case 6:
		g.tier, g.pool = h.pick("a", "b"), h.pick("prod", "lab")
		h.reached["change label"]++
		return g.name + " label and pool"
	case 7:
		g.destroy, g.protection = h.pick(permissions...), h.pick("", "true", "false")
		h.reached["change lifecycle"]++
		return g.name + " lifecycle"
	case 8:
		g.gone = !g.gone
		h.reached["change removal"]++
		return g.name + " removed or restored"
	case 9:
		g.excluded = !g.excluded
		h.reached["change disk"]++
		return g.name + " disk in backups"
	case 10:
		h.memory[g.vmid] = 1 + h.rng.IntN(6)
		h.reached["change memory"]++
		return g.name + " memory"
	case 11:
		g.obs = !g.obs
		h.reached["change mode"]++
		return g.name + " mode"
	case 12:
		if by.scoped {
			h.bounds["web/web-bound.yaml"] = h.rng.IntN(5)
		} else {
			h.bounds[h.pick("web/web-bound.yaml", "bound.yaml")] = h.rng.IntN(5)
		}
		h.memory[g.vmid] = 1 + h.rng.IntN(6)
		h.reached["change policy"]++
		return "policy"
	case 13:
		if !by.scoped {
			h.number = 1 + h.rng.IntN(3)
			h.reached["change approvals"]++
			return "approvals"
		}
	case 14:
		if !by.scoped {
			h.class = nil
			if h.rng.IntN(2) == 0 {
				h.class = []string{"lifecycle: {protection: " + h.pick("true", "false") + "}"}
			}
			g.class = h.rng.IntN(2) == 0
			h.reached["change class"]++
			return "class"
		}
	}
	kinds := []func() (string, string){
		func() (string, string) {
			return "web/net.yaml", objectYAML("Alias", "web-net", "cidr: "+h.address())
		},
		func() (string, string) {
			entries := []string{"{cidr: " + h.address() + "}"}
			if other := h.address(); !strings.Contains(entries[0], other+"}") {
				entries = append(entries, "{cidr: "+other+h.pick("", ", noMatch: true")+"}")
			}
			return "web/set.yaml", objectYAML("IPSet", "web-set", "entries: ["+strings.Join(entries, ", ")+"]")
		},
		func() (string, string) {
			rules := uniqueRules([]string{h.rule(false), h.rule(false)})
			return "web/group.yaml", objectYAML("SecurityGroup", "web-group", "rules: ["+strings.Join(rules, ", ")+"]")
		},
		func() (string, string) { return "web/job.yaml", objectYAML("BackupJob", "web-job", h.job()) },
		func() (string, string) {
			name := h.pick("nightly", "hourly", "weekly")
			return "db/" + name + ".yaml", objectYAML("BackupJob", name, h.job())
		},
	}
	if by.scoped {
		kinds = kinds[:4]
	}
	file, text := kinds[h.rng.IntN(len(kinds))]()
	if h.rng.IntN(5) == 0 {
		text = ""
	}
	h.objects[file] = text
	changed := map[string]string{"web/net.yaml": "alias", "web/set.yaml": "set", "web/group.yaml": "group"}[file]
	h.reached["change "+cmp.Or(changed, "job")]++
	return file + " " + text
}

// approveAllHeld approves what is held.
func (h *effectHistory) approveAllHeld(who sigtest.Identity) {
	var lines []string
	for _, digest := range h.held() {
		if digest != "" {
			lines = append(lines, "Gitops-Approve: "+digest)
		}
	}
	if len(lines) > 0 {
		h.reached["push approved"]++
		h.waitForAcceptance(h.push("Approve\n\n"+strings.Join(lines, "\n")+"\n", who))
		time.Sleep(5 * time.Minute)
	}
}

func (h *effectHistory) run() {
	h.rareTicks()
	h.write()
	h.push("the first", alice)
	defer h.start()()
	h.converge()
	h.noteGuards()
	h.was = h.read()
	for range pushesPerEffectHistory {
		var what []string
		by := make([]effectSigner, 1+h.rng.IntN(3)) // commits that one poll finds
		for i := range by {
			by[i] = h.people[h.rng.IntN(len(h.people))]
		}
		before, bound, last, restore := maps.Clone(h.inForce), maps.Clone(h.bound), "", h.remember()
		for i, signer := range by {
			what = append(what, strings.TrimSuffix(signer.who.Subject, "@lab.test")+": "+h.change(signer))
			h.write()
			last = h.repo.Push(h.sig, signer.who, "a change")
			if i == len(by)-1 || by[i+1].who != signer.who {
				h.noteGuards()
			}
		}
		h.polls++
		if slices.ContainsFunc(by, func(signer effectSigner) bool { return signer.who != by[0].who }) {
			h.reached["push several"]++
		}
		for _, signer := range by {
			switch {
			case signer.scoped && signer.guests:
				h.reached["push by-names"]++
			case signer.scoped:
				h.reached["push scoped"]++
			}
		}
		time.AfterFunc(h.pushToPoll, h.engine.Hint)
		var refused *report.Refused
		eventually(h.lab, "acceptance or refusal", func() bool {
			r := h.engine.Report().Source
			refused = r.Refused
			return refused != nil && refused.Commit == last || r.Accepted != nil && r.Accepted.Commit == last
		})
		if refused != nil && refused.Commit == last {
			h.Logf("%v: refused: %s", what, refused.Error)
			return // what follows it would be refused too
		}
		h.accepted++
		time.Sleep(6 * time.Minute)
		h.approves()
		if !slices.ContainsFunc(by, func(signer effectSigner) bool { return !signer.guests }) {
			free := before[h.guests[3].vmid]
			free.backup, free.observe = true, true
			before[h.guests[3].vmid] = free // nothing of it is in the scope; paths limit files, and not guests
		}
		h.compare(before, bound, strings.Join(what, "; "))
		if h.Failed() {
			return
		}
		if h.rng.IntN(5) > 0 && len(h.held()) > 0 { // what waits would otherwise keep all later changes from being made
			restore()
			h.write()
			h.waitForAcceptance(h.push("take it back", h.people[0].who))
			h.noteGuards()
			time.Sleep(4 * time.Minute)
			h.was = h.read()
		}
	}
}

// remember returns a function that takes back all later changes of manifests.
func (h *effectHistory) remember() (restore func()) {
	guests := make([]guarded, len(h.guests))
	for i, g := range h.guests {
		guests[i] = *g
	}
	objects, class, number, bounds, memory := maps.Clone(h.objects), h.class, h.number, maps.Clone(h.bounds), maps.Clone(h.memory)
	return func() {
		for i, g := range h.guests {
			*g = guests[i]
		}
		h.objects, h.class, h.number, h.bounds, h.memory = objects, class, number, bounds, memory
	}
}

// held returns the digests of what is held.
func (h *effectHistory) held() []string {
	var digests []string
	r := h.engine.Report()
	for _, g := range r.Guests {
		for _, held := range g.Held {
			h.reached["held "+string(g.Kind)]++
			digests = append(digests, held.Digest)
		}
	}
	if r.Guards != nil {
		for _, held := range r.Guards.Held {
			h.reached["held Cluster"]++
			digests = append(digests, held.Digest)
		}
	}
	slices.Sort(digests)
	return slices.Compact(digests)
}

// noteGuards notes the guards of the manifests. As nobody approves a weaker one, they stay in force.
func (h *effectHistory) noteGuards() {
	for _, g := range h.guests {
		if g.gone {
			continue
		}
		is := h.inForce[g.vmid]
		protection := g.protection
		if protection == "" && g.class && len(h.class) > 0 {
			protection = map[bool]string{true: "true"}[strings.Contains(h.class[0], "true")]
		}
		is.backup, is.wall, is.observe = is.backup || g.backup, is.wall || g.wall, is.observe || g.obs
		is.protection = is.protection || protection == "true"
		is.destroy = max(is.destroy, slices.Index(permissions, g.destroy))
		h.inForce[g.vmid] = is
	}
	for file, bound := range h.bounds {
		if _, known := h.bound[file]; !known && bound > 0 {
			h.bound[file] = bound
		}
	}
}

// clusterState is what the simulated cluster shows.
type clusterState struct {
	jobs   effect.Backups
	dc     effect.Datacenter
	walls  map[int]effect.Firewall
	config map[int]map[string]string
	pool   map[int]string
}

// rows returns the reply to a GET as rows of texts.
func (h *effectHistory) rows(path string) []map[string]string {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), http.MethodGet, "https://pve1.lab.test:8006/api2/json"+path, nil)
	h.ok(err)
	r.Header.Set("Authorization", "PVEAPIToken="+h.sim.Token("root@pam!full"))
	res, err := h.sim.Transport().RoundTrip(r)
	h.ok(err)
	var reply struct{ Data json.RawMessage }
	h.ok(json.NewDecoder(res.Body).Decode(&reply))
	h.ok(res.Body.Close())
	var list []map[string]any
	if json.Unmarshal(reply.Data, &list) != nil {
		list = make([]map[string]any, 1)
		h.ok(json.Unmarshal(reply.Data, &list[0]))
	}
	texts := make([]map[string]string, len(list))
	for i, row := range list {
		texts[i] = map[string]string{}
		for key, value := range row {
			texts[i][key] = fmt.Sprint(value)
		}
	}
	return texts
}

// names returns the aliases and sets of a firewall.
func (h *effectHistory) names(path string) effect.Names {
	names := effect.Names{Aliases: map[string]string{}, Sets: map[string][]effect.Entry{}}
	for _, a := range h.rows(path + "/aliases") {
		names.Aliases[a["name"]] = a["cidr"]
	}
	for _, set := range h.rows(path + "/ipset") {
		names.Sets[set["name"]] = nil
		for _, e := range h.rows(path + "/ipset/" + set["name"]) {
			names.Sets[set["name"]] = append(names.Sets[set["name"]], effect.Entry{CIDR: e["cidr"], NoMatch: e["nomatch"] == "1"})
		}
	}
	return names
}

// read reads the cluster.
func (h *effectHistory) read() clusterState {
	const dc = "/cluster/firewall"
	s := clusterState{
		jobs: effect.Backups{}, dc: effect.Datacenter{Names: h.names(dc), Groups: map[string][]map[string]string{}},
		walls: map[int]effect.Firewall{}, config: map[int]map[string]string{}, pool: map[int]string{},
	}
	for _, job := range h.rows("/cluster/backup") {
		if retention := h.sim.BackupJob(job["id"]); retention != nil { // as stored, where the API shows an object
			s.jobs[job["id"]] = retention
		}
	}
	for _, group := range h.rows(dc + "/groups") {
		s.dc.Groups[group["group"]] = h.rows(dc + "/groups/" + group["group"])
	}
	for _, row := range h.rows("/cluster/resources?type=vm") {
		vmid, err := strconv.Atoi(row["vmid"])
		h.ok(err)
		if vmid == 9000 {
			continue
		}
		path := "/nodes/pve1/qemu/" + row["vmid"]
		s.pool[vmid], s.config[vmid] = row["pool"], h.rows(path + "/config")[0]
		wall := effect.Firewall{Names: h.names(path + "/firewall"), Options: h.rows(path + "/firewall/options")[0], Rules: h.rows(path + "/firewall/rules"), Cards: map[string]string{}}
		for key, text := range s.config[vmid] {
			if strings.HasPrefix(key, "net") {
				wall.Cards[key] = text
			}
		}
		s.walls[vmid] = wall
	}
	return s
}

// packets are packets of which firewalls of the histories admit some.
func packets() []effect.Packet {
	var all []effect.Packet
	for _, direction := range []string{"in", "out"} {
		for _, address := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.9", "10.0.1.1", "10.0.9.9", "192.168.0.1"} {
			for _, port := range []string{"22", "80", "443", "9"} {
				for _, card := range []string{"net0", "net1"} {
					all = append(all, effect.Packet{Direction: direction, Address: address, Port: port, Card: card})
				}
			}
		}
	}
	return all
}

// compare compares the effects of guards that were in force before some pushes.
func (h *effectHistory) compare(inForce map[int]asks, bound map[string]int, what string) {
	h.Helper()
	before, now := h.was, h.read()
	for _, g := range h.guests {
		is, vmid := inForce[g.vmid], g.vmid
		if _, existed := before.config[vmid]; !existed {
			continue
		}
		if is.destroy > 0 {
			h.reached["compared destroy"]++
		}
		if _, exists := now.config[vmid]; !exists {
			if is.destroy > 0 || is.protection || before.config[vmid]["protection"] == "1" {
				h.Errorf("got %s destroyed with the guards %+v, want it kept, after %s", g.name, is, what)
			}
			continue
		}
		h.compareGuest(g, is, before, now, what)
		for file, most := range bound {
			folder, _, nested := strings.Cut(file, "/")
			h.reached["compared policy"]++
			if memory, was := now.memory(vmid), before.memory(vmid); (!nested || folder == g.folder) && memory > was && memory > most<<10 {
				h.Errorf("got %s with %d MiB, want at most %d GiB by the policy %s, after %s", g.name, memory, most, file, what)
			}
		}
	}
	if !reflect.DeepEqual(before, now) {
		h.changed++
	}
	h.was = now
}

func (s clusterState) memory(vmid int) int {
	memory, _ := strconv.Atoi(s.config[vmid]["memory"])
	return memory
}

func (h *effectHistory) compareGuest(g *guarded, is asks, before, now clusterState, what string) {
	h.Helper()
	vmid := g.vmid
	if is.protection && before.config[vmid]["protection"] == "1" {
		h.count("protection")
		if now.config[vmid]["protection"] != "1" {
			h.Errorf("got %s without its protection, after %s", g.name, what)
		}
	}
	if is.observe {
		h.count("observe")
		if !maps.Equal(before.config[vmid], now.config[vmid]) {
			h.Errorf("got %s changed from %v to %v with mode: observe in force, after %s", g.name, before.config[vmid], now.config[vmid], what)
		}
	}
	if is.backup {
		h.count("backup")
		was, then := effect.Guest{VMID: vmid, Pool: before.pool[vmid]}, effect.Guest{VMID: vmid, Pool: now.pool[vmid]}
		points := effect.RestorePoints(before.jobs, was, now.jobs, then)
		for point := range effect.RestorePoints(before.jobs, was, before.jobs, was) {
			if !points[point] {
				h.Errorf("got no restore point %s of %s (pool %s -> %s, jobs %v -> %v), want it kept, after %s", point, g.name, was.Pool, then.Pool, before.jobs, now.jobs, what)
				break
			}
		}
		if strings.Contains(now.config[vmid]["scsi0"], "backup=0") && !strings.Contains(before.config[vmid]["scsi0"], "backup=0") {
			h.Errorf("got a disk of %s out of its backups, after %s", g.name, what)
		}
	}
	if is.wall {
		h.count("firewall")
		for _, p := range packets() {
			was := p
			if before.walls[vmid].Cards[p.Card] == "" {
				was.Card = "net0" // a new card admits what the other one admitted
			}
			if now.walls[vmid].Passes(now.dc, p) && !before.walls[vmid].Passes(before.dc, was) {
				h.Errorf("got %+v admitted by %s, want it denied as before:\n%+v %+v\n%+v %+v\nafter %s", p, g.name, before.walls[vmid], before.dc, now.walls[vmid], now.dc, what)
				return
			}
		}
	}
}
