package policy

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReads lists what expressions read of a guest. A policy is not remembered if it is not certain that these are all.
func TestReads(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{ // nil: not remembered
		`new.memory > 1`: {"Guest.memory"},
		`new.labels.?stage.orValue("") == "prod" && size(new.networks) < 2`:                            {"Guest.labels", "Guest.networks"},
		`new.networks.exists(n, n.bridge == "vmbr1" && !("ops" in n.signers)) || has(new.node)`:        {"Guest.networks", "Guest.node", "Network.bridge", "Network.signers"},
		`new.disks.filter(d, d.kind == "cdrom").map(d, d.volume).join(",") == "" && new.cpu.total > 1`: {"CPU.total", "Disk.kind", "Disk.volume", "Guest.cpu", "Guest.disks"},
		`new.lifecycle.destroy == "allow" && new.tags.exists(t, t.startsWith("a"))`:                    {"Guest.lifecycle", "Guest.tags", "Lifecycle.destroy"},
		`new.config["ostype"] == "l26"`:          nil,
		`"ops" in new.signers["memory"]`:         nil,
		`dyn(new).memory > 1`:                    nil,
		`new.?memory.orValue(1) > 1`:             nil,
		`[new][0].memory > 1`:                    {"Guest.memory"},
		`optional.of(new).memory.orValue(1) > 1`: nil,
	}
	for when, want := range tests {
		set := compiledSet(t, rule(func(r *Rule) { r.When = when }))
		m := set.guests[0].memo
		if (m == nil) != (want == nil) {
			t.Errorf("%s: got remembered %v, want %v", when, m != nil, want != nil)
			continue
		}
		if m == nil {
			continue
		}
		var got []string
		for _, name := range slices.Sorted(maps.Keys(m.reads)) {
			for _, f := range m.reads[name] {
				got = append(got, name+"."+f.name)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
}

// TestRememberedResults judges guests that differ in one field each, twice, and compares the results with those of a Set that remembers nothing.
func TestRememberedResults(t *testing.T) {
	t.Parallel()
	var guests []*Guest
	for _, change := range []func(g *Guest){
		func(*Guest) {}, func(g *Guest) { g.Name = "db-1" }, func(g *Guest) { g.Memory = 1 }, func(g *Guest) { g.Labels = map[string]string{"stage": "prod", "team": "db"} },
		func(g *Guest) { g.Labels = map[string]string{"stage": "prodteam", "": "web"} }, func(g *Guest) { g.Tags = []string{"prodweb"} }, func(g *Guest) { g.CPU = CPU{8, 1} },
		func(g *Guest) { g.CPU = CPU{2, 4} }, func(g *Guest) { g.Networks = g.Networks[:1] }, func(g *Guest) { g.Networks[1].Signers = []string{"ops"} }, func(g *Guest) { g.Networks[0].Bridge = "vmbr1" },
		func(g *Guest) { g.Disks[0].Volume = "none" }, func(g *Guest) { g.Disks = append(g.Disks, g.Disks[1]) }, func(g *Guest) { g.Disks[1].Backup = false }, func(g *Guest) { g.Lifecycle.Destroy = "allow" },
		func(g *Guest) { g.Kind, g.Privileged = "Container", true }, func(g *Guest) { g.Protection = true },
	} {
		g := webServer()
		change(g)
		guests = append(guests, g)
	}
	var rules []Rule
	for i, when := range []string{
		`new.name == "db-1"`, `new.memory < 5`, `new.labels.?team.orValue("") == "web"`, `size(new.labels) == 2 && "stage" in new.labels && new.labels["stage"] == "prod"`, `new.tags == ["prodweb"]`,
		`new.cpu.cores > 4`, `new.cpu.total == 8`, `new.networks.exists(n, n.bridge == "vmbr1" && !("ops" in n.signers))`, `size(new.networks) < 2`, `new.networks[1].slot == "net1"`,
		`new.disks.exists(d, d.kind == "cdrom" && d.volume != "none")`, `new.disks.filter(d, d.backup).size() != 1`, `new.lifecycle.destroy == "allow"`, `new.privileged`, `new.protection || new.kind == "Container"`,
	} {
		rules = append(rules, rule(func(r *Rule) {
			r.Name, r.When, r.Message = fmt.Sprintf("p-%02d", i), when, ""
			r.Expression = `"got " + new.state + " " + string(new.memory) + new.disks.map(d, d.slot).join(",")`
		}))
	}
	remembers, forgets := compiledSet(t, rules...), compiledSet(t, rules...)
	for _, c := range forgets.guests {
		c.applies, c.memo, c.when.free, c.message.free = nil, nil, nil, nil
	}
	differ := 0
	for range 2 {
		for i, g := range guests {
			want := forgets.Guest(g, Place{})
			if diff := cmp.Diff(want, remembers.Guest(g, Place{})); diff != "" {
				t.Errorf("guest %d (-want +got):\n%s", i, diff)
			}
			if !cmp.Equal(want, forgets.Guest(guests[0], Place{})) {
				differ++
			}
		}
	}
	if differ < len(guests) {
		t.Errorf("got %d results that differ from those of the first guest, want most", differ)
	}
	for _, c := range remembers.guests {
		if c.memo == nil || c.memo.hits < len(guests) && (c.applies == nil || c.applies.hits < len(guests)) {
			t.Errorf("%s: got %v, %v, want every result remembered the second time", c.When, c.applies, c.memo)
		}
	}
}

// TestMemoIsBounded judges many guests of which each differs in what a policy reads: it stops to remember.
func TestMemoIsBounded(t *testing.T) {
	t.Parallel()
	set := compiledSet(t, rule(func(r *Rule) { r.When = `new.name == "web-77"` }))
	found := 0
	for i := range 3 * tried {
		found += len(set.Guest(&Guest{Exists: true, Name: fmt.Sprintf("web-%d", i)}, Place{}))
	}
	if m := set.guests[0].memo; found != 1 || !m.off.Load() || m.known != nil {
		t.Errorf("got %d findings and a memo with %d results, want one finding and no results", found, len(m.known))
	}
}
