package policy

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest"
)

// printed are expressions that print each field of a guest.
var printed = []string{
	`new.kind`, `new.name`, `string(new.vmid)`, `new.node`, `new.pool`, `new.tags.join(",")`, `new.labels.map(k, k + new.labels[k]).join(",")`, `new.state`, `string(new.cpu.total) + " " + string(new.cpu.sockets)`,
	`string(new.memory)`, `new.disks.map(d, d.slot + d.kind + d.storage + d.volume + string(d.size) + string(d.backup) + d.signers.join("+")).join(",")`,
	`new.networks.map(n, n.slot + n.bridge + string(n.vlan) + string(n.firewall) + string(n.connected) + n.mac + n.signers.join("+")).join(",")`, `string(new.onBoot)`, `string(new.protection)`, `string(new.template)`,
	`string(new.privileged)`, `string(new.ha)`, `new.lifecycle.destroy + new.lifecycle.recreate + new.lifecycle.rebootPolicy`, `new.config.map(k, k + new.config[k]).join(",")`, `string(size(new.signers))`,
	`new.networks.map(n, n.bridge).join(",")`, `new.networks.map(n, n.mac).join(",")`, `new.disks.map(d, d.kind + d.volume).join(",")`, `new.disks.map(d, string(d.size)).join(",")`,
}

// TestWantedIsTheWholeGuest judges random guests with policies that read one field each, which derive only that, and compares the findings with those of
// the whole guest.
func TestWantedIsTheWholeGuest(t *testing.T) {
	t.Parallel()
	var sets []*Set
	var all []Rule
	for i, message := range printed {
		one := rule(func(r *Rule) { r.Name, r.Message, r.Expression = fmt.Sprintf("p-%02d", i), "", message })
		sets, all = append(sets, compiledSet(t, one)), append(all, one)
	}
	sets = append(sets, compiledSet(t, all...), sets[0].With(sets[9]))
	for _, f := range guestType.fields {
		if p := (reads{typeGuest: {f}}).parts(); (p == parts{}) != isAlwaysDerived(f.name) {
			t.Errorf("%s: got %+v", f.name, p)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		d, live := randomGuest(random)
		signers := func(field string) []string { return []string{"olga", field} }
		whole := NewGuest(d, live, signers)
		for i, set := range sets {
			if diff := cmp.Diff(set.Guest(whole, Place{}), set.Wanted(d, live, signers, Place{})); diff != "" {
				t.Fatalf("set %d of %+v over %+v (-whole +wanted):\n%s", i, d, live, diff)
			}
		}
	}
}

// isAlwaysDerived reports whether a field is not derived from single native keys.
func isAlwaysDerived(field string) bool {
	switch field {
	case "tags", "cpu", "memory", "disks", "networks", "onBoot", "protection", "privileged":
		return false
	}
	return true
}

// randomGuest returns what a manifest wants of a guest, and the live guest or nil.
func randomGuest(random *rand.Rand) (*guest.Desired, *guest.Observed) {
	ref := guest.Ref{Kind: guest.VirtualMachine, Name: fmt.Sprintf("g-%d", random.IntN(5)), VMID: 200 + random.IntN(5)}
	samples := map[string][]string{
		"cores": {"2", "4"}, "sockets": {"2"}, "memory": {"2048", "current=4096"}, "tags": {"prod;web", "b;A;gitops-0123abcd"}, "onboot": {"1", "0"}, "protection": {"1"},
		"net0": {"virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20", "e1000=BC:24:11:00:00:02,bridge=vmbr1,firewall=1,link_down=1"}, "net3": {"virtio,bridge=vmbr2"},
		"scsi0": {"local-lvm:vm-201-disk-0,size=32G", "ceph:vm-201-disk-1,size=8G,backup=0"}, "ide2": {"none,media=cdrom", "local:iso/debian.iso,media=cdrom"}, "efidisk0": {"local:1/e.raw,size=4M"}, "cipassword": {"secret"},
	}
	if random.IntN(3) == 0 {
		ref.Kind = guest.Container
		samples = map[string][]string{
			"cores": {"2"}, "memory": {"512"}, "unprivileged": {"1", "0"}, "tags": {"prod"}, "rootfs": {"local:200/a.raw,size=8G"}, "mp0": {"local:200/b.raw,mp=/b,size=8G,backup=1", "/srv,mp=/srv"},
			"net0": {"name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:03", "name=eth0,bridge=vmbr1,tag=3"},
		}
	}
	d := &guest.Desired{Ref: ref, Node: "pve1", Pool: []string{"", "web"}[random.IntN(2)], Labels: map[string]string{"stage": "prod"}, Template: random.IntN(4) == 0}
	live := &guest.Observed{Ref: ref, Node: "pve2", Pool: "db", Status: guest.StatusRunning, HA: random.IntN(2) == 0, Keys: map[string]guest.Value{}}
	for _, key := range slices.Sorted(maps.Keys(samples)) {
		texts := samples[key]
		one := func() string { return texts[random.IntN(len(texts))] }
		if random.IntN(3) > 0 {
			value := guest.Value{Text: one(), Set: true}
			if random.IntN(4) == 0 {
				pending := one()
				value.Pending = &pending
			}
			live.Keys[key] = value
		}
		switch random.IntN(4) {
		case 0:
			d.Intents = append(d.Intents, guest.Intent{Key: key, Verb: guest.Absent})
		case 1, 2:
			d.Intents = append(d.Intents, text(key, one()))
		}
		if random.IntN(8) == 0 {
			d.Ignore = append(d.Ignore, key)
		}
	}
	slices.SortFunc(d.Intents, func(a, b guest.Intent) int { return strings.Compare(a.Key, b.Key) })
	if random.IntN(4) == 0 {
		live = nil
	}
	return d, live
}
