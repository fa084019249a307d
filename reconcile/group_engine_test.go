package reconcile_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

const (
	webGroup = "apiVersion: proxmox.gitops/v1alpha1\nkind: SecurityGroup\nmetadata: {name: web}\nspec:\n  rules:\n" +
		"    - {type: in, action: DROP, source: dc/office, comment: not these}\n    - {type: in, action: ACCEPT, macro: SSH, source: +dc/admins}\n    - {type: in, action: ACCEPT, protocol: tcp, port: 443}\n" +
		"    - {type: out, action: DROP, enable: false}\n  lifecycle: {destroy: allow}\n"
	webGroupRules = "in DROP from dc/office # not these|in ACCEPT ssh from +dc/admins|in ACCEPT tcp to port 443|out DROP (disabled)"
	adminsSet     = "apiVersion: proxmox.gitops/v1alpha1\nkind: IPSet\nmetadata: {name: admins}\nspec:\n" +
		"  entries: [{cidr: 10.0.0.0/24}, {cidr: 10.0.0.9, noMatch: true, comment: a guest}, {cidr: 10.1.0.0/16}]\n  lifecycle: {destroy: allow}\n"
	adminsEntries = "10.0.0.0/24|!10.0.0.9|10.1.0.0/16"
)

// webRules returns the rules of the security group web as one text.
func (l *lab) webRules() string {
	_, rules, _ := l.sim.Group("web")
	var words []string
	for _, r := range rules {
		words = append(words, guest.RuleOf(r).String())
	}
	return strings.Join(words, "|")
}

// adminEntries returns the entries of the set admins of the cluster as one text.
func (l *lab) adminEntries() string {
	_, entries, _ := l.sim.IPSet("admins")
	var words []string
	for _, e := range entries {
		words = append(words, map[string]string{"1": "!"}[e["nomatch"]]+e["cidr"])
	}
	return strings.Join(words, "|")
}

// withGroup has a guest that uses a security group, and what the group needs.
func withGroup(l *lab) {
	l.grant("Sys.Modify")
	l.files["web.yaml"] = vmYAML("web-1", 201, "firewall:", "  enable: true", "  rules: [{group: web}]")
	l.files["group.yaml"], l.files["set.yaml"], l.files["alias.yaml"] = webGroup, adminsSet, officeAlias
}

// TestGroupIsCompleteBeforeItsUsersAndStaysAfterThem makes a guest, the group that it names, and the set and the alias that the group names, by one commit. Edits by
// hand are repaired, and the converged cluster gets no write. Removing all, each goes after its users.
func TestGroupIsCompleteBeforeItsUsersAndStaysAfterThem(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		withGroup(l)
		l.push("a guest, its group and its set", alice)
		defer l.start()()
		l.converge()
		wantContent := func() {
			t.Helper()
			if rules, entries := l.webRules(), l.adminEntries(); rules != webGroupRules || entries != adminsEntries {
				t.Fatalf("got the rules %s and the entries %s, want %s and %s", rules, entries, webGroupRules, adminsEntries)
			}
		}
		wantContent()
		last := map[string]int{}
		for i, o := range l.steps {
			last[o.Step.Guest.Label()] = i
		}
		first := func(label string) int {
			return slices.IndexFunc(l.steps, func(o report.StepOutcome) bool {
				return o.Step.Guest.Label() == label && o.Step.Op != cluster.OpObjectAdd
			})
		}
		if last["Alias/office"] > first("SecurityGroup/web") || last["IPSet/admins"] > first("SecurityGroup/web") || last["SecurityGroup/web"] > first("VirtualMachine/web-1") {
			t.Errorf("got the last steps %v, want each object complete before its users", last)
		}

		l.sim.ResetCounters()
		time.Sleep(10 * time.Minute)
		if n := l.sim.Counters().Writes; n != 0 {
			t.Errorf("got %d writes, want none", n)
		}
		const rules = "/cluster/firewall/groups/web"
		l.edit(http.MethodPost, rules, "type=in&action=ACCEPT&enable=1")
		l.edit(http.MethodPut, rules+"/1", "moveto=4")
		l.edit(http.MethodPut, rules+"/2", "delete=comment&enable=0")
		l.edit(http.MethodDelete, "/cluster/firewall/ipset/admins/10.0.0.9", "")
		l.edit(http.MethodPost, "/cluster/firewall/ipset/admins", "cidr=192.168.0.0/16")
		l.edit(http.MethodPut, "/cluster/firewall/ipset/admins/10.1.0.0%2F16", "nomatch=1")
		eventually(t, "the repair", func() bool { return l.webRules() == webGroupRules && l.adminEntries() == adminsEntries })
		l.converge()

		delete(l.files, "group.yaml")
		delete(l.files, "set.yaml")
		l.push("remove the group and its set only", alice)
		for _, label := range []string{"SecurityGroup/web", "IPSet/admins"} {
			eventually(t, "the condition of "+label, func() bool {
				return slices.ContainsFunc(l.object(label).Conditions, func(c plan.Condition) bool { return strings.Contains(c.Message, "names it") })
			})
		}
		time.Sleep(5 * time.Minute)
		wantContent()
		l.files["web.yaml"] = vmYAML("web-1", 201, "firewall: {enable: true, rules: []}")
		l.push("remove the rule", alice)
		eventually(t, "the removal", func() bool {
			_, _, group := l.sim.Group("web")
			_, _, set := l.sim.IPSet("admins")
			return !group && !set
		})
		l.converge()
	})
}

// TestOthersOfAGroupAreKept lets a manifest describe a part of the rules and entries. It changes nothing else.
func TestOthersOfAGroupAreKept(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		l.sim.SetGroup("web", "", map[string]string{"type": "in", "action": "DROP", "enable": "1"})
		l.sim.SetIPSet("admins", "", "10.9.0.0/16")
		l.files["web.yaml"], l.files["alias.yaml"] = vmYAML("web-1", 201), officeAlias
		l.files["group.yaml"], l.files["set.yaml"] = webGroup+"  adopt: ifUnmanaged\n  keepOthers: true\n", adminsSet+"  adopt: ifUnmanaged\n  keepOthers: true\n"
		l.push("adopt them", alice)
		defer l.start()()
		l.converge()
		if rules := l.webRules(); !strings.HasPrefix(rules, webGroupRules) || !strings.HasSuffix(rules, "|in DROP") {
			t.Errorf("got the rules %s, want those of the manifest and the other one", rules)
		}
		if entries := l.adminEntries(); entries != adminsEntries+"|10.9.0.0/16" {
			t.Errorf("got the entries %s, want those of the manifest and the other one", entries)
		}
	})
}

// mortalCluster crashes the agent around each call about an object, again and again.
type mortalCluster struct {
	cluster.Cluster
	after   bool // after the call, instead of before it
	crashes atomic.Int32
	crashed atomic.Bool
	mu      sync.Mutex
	sent    map[string]bool // calls before which it has crashed already
}

func (m *mortalCluster) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	if m.crashed.Load() {
		panic("another lane of the agent crashes too")
	}
	if !call.Op.IsObject() {
		return m.Cluster.Do(ctx, call, check)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	what := fmt.Sprintf("%+v", call)
	if !m.after && m.sent[what] {
		return m.Cluster.Do(ctx, call, check)
	}
	m.sent[what] = true
	if m.after {
		_, _ = m.Cluster.Do(ctx, call, check)
	}
	m.crashes.Add(1)
	m.crashed.Store(true)
	panic("the agent crashes here")
}

// TestGroupIsMadeBetweenCrashes crashes the agent around every call that makes a group and a set, and around every call that removes them.
func TestGroupIsMadeBetweenCrashes(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				withGroup(l)
				l.push("a guest and its group", alice)
				m := &mortalCluster{Cluster: l.cluster, after: after, sent: map[string]bool{}}
				untilDone := func(done func() bool) {
					t.Helper()
					for range 60 {
						m.crashed.Store(false)
						l.opts.Cluster = m
						stop := l.start()
						eventually(t, "a crash or the end", func() bool { return m.crashed.Load() || done() })
						stop()
						if done() {
							return
						}
					}
					t.Fatalf("got no end after %d crashes", m.crashes.Load())
				}
				untilDone(func() bool { return l.webRules() == webGroupRules && l.adminEntries() == adminsEntries })
				made := m.crashes.Load()
				l.files["web.yaml"] = vmYAML("web-1", 201, "firewall: {enable: true, rules: []}")
				delete(l.files, "group.yaml")
				delete(l.files, "set.yaml")
				l.push("remove them", alice)
				untilDone(func() bool {
					_, _, group := l.sim.Group("web")
					_, _, set := l.sim.IPSet("admins")
					return !group && !set
				})
				if removed := m.crashes.Load() - made; made < 12 || removed < 4 {
					t.Errorf("got %d and %d crashes, want one around each call", made, removed)
				}
				l.opts.Cluster = l.cluster
				defer l.start()()
				l.converge()
			})
		})
	}
}

// TestGroupCallWithoutReply loses the replies to calls about rules and entries.
func TestGroupCallWithoutReply(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]pvesim.Fault{
		"new_rule": {Kind: pvesim.DropAfter, Method: "POST", Path: "/groups/web$"}, "lost_rule": {Kind: pvesim.DropBefore, Method: "POST", Path: "/groups/web$"},
		"rule": {Kind: pvesim.DropAfter, Method: "PUT", Path: "/groups/web/"}, "entry": {Kind: pvesim.DropAfter, Method: "POST", Path: "/ipset/admins$"},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.ok(l.sim.Inject(fault))
				withGroup(l)
				l.push("a guest and its group", alice)
				defer l.start()()
				l.converge()
				if rules, entries := l.webRules(), l.adminEntries(); rules != webGroupRules || entries != adminsEntries {
					t.Errorf("got the rules %s and the entries %s", rules, entries)
				}
			})
		})
	}
}

// TestChangeOfOneGroupReadsNoOther gives one of many security groups many rules. Each step reads the list of groups and the rules of this group, and not those of the
// others.
func TestChangeOfOneGroupReadsNoOther(t *testing.T) {
	const (
		groups = 15
		rules  = 20
		route  = "GET /cluster/firewall/groups/{group}"
	)
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		group := func(i, rules int) string {
			var text strings.Builder
			fmt.Fprintf(&text, "apiVersion: proxmox.gitops/v1alpha1\nkind: SecurityGroup\nmetadata: {name: group-%d}\nspec:\n  rules:\n", i)
			for port := range rules {
				fmt.Fprintf(&text, "    - {type: in, action: ACCEPT, protocol: tcp, port: %d}\n", 80+port)
			}
			return text.String()
		}
		for i := range groups {
			l.files[fmt.Sprintf("group-%d.yaml", i)] = group(i, 1)
		}
		l.push("groups with one rule", alice)
		defer l.start()()
		l.converge()
		l.sim.ResetCounters()
		l.files["group-3.yaml"] = group(3, rules)
		l.waitForAcceptance(l.push("more rules for one", alice))
		l.converge()
		c := l.sim.Counters()
		if got, most := int(c.Routes[route]), int(c.Writes)+4*groups; got > most {
			t.Errorf("got %d reads of the rules of a group, want at most %d: one for each of %d calls, and a few sweeps", got, most, c.Writes)
		}
	})
}
