package lastseen

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
)

// model is an object with three keys that the agent, others and new manifests change, in any order and with crashes in between.
type model struct {
	live, wanted map[string]string
	foreign      map[string]bool // keys that others changed since the agent last saw their value agree with the manifest or began a step about it
	record       Values
}

var keys = []string{"memory", "cores", "scsi0"}

func (m *model) differences() Differences {
	var d Differences
	for _, key := range keys {
		if m.live[key] != m.wanted[key] {
			d.Changes = append(d.Changes, guest.Change{Key: key})
		}
	}
	return d
}

func (m *model) values() Values {
	now := make(Values)
	for key, text := range m.live {
		now[key] = fingerprint(text)
	}
	return now
}

// TestOnlyChangesOfOthersCount checks that a key counts as changed by others exactly if it was: never because of a step of the agent that left another value
// than the wanted one, because of a new manifest, because the first reading already differed, or after a crash at any point of a step.
func TestOnlyChangesOfOthersCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{live: map[string]string{}, wanted: map[string]string{}, foreign: map[string]bool{}}
		text := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		for _, key := range keys {
			m.live[key], m.wanted[key] = text.Draw(t, "live"), text.Draw(t, "wanted")
		}
		read := func() {
			var others []string
			for _, key := range keys {
				if m.live[key] == m.wanted[key] {
					m.foreign[key] = false
				}
				if m.foreign[key] && m.record[key] != fingerprint(m.live[key]) { // others may also have changed it back
					others = append(others, key)
				}
			}
			slices.Sort(others)
			if got := ByOthers(m.record, m.values(), m.differences()); !slices.Equal(got, others) {
				t.Fatalf("got %v changed by others, want %v", got, others)
			}
			m.record, _ = Follow(m.record, m.values(), m.differences())
		}
		read()
		t.Repeat(map[string]func(*rapid.T){
			"revision": func(t *rapid.T) { m.wanted[rapid.SampledFrom(keys).Draw(t, "key")] = text.Draw(t, "text") },
			"others": func(t *rapid.T) {
				key := rapid.SampledFrom(keys).Draw(t, "key")
				m.live[key] = text.Draw(t, "text")
				if _, known := m.record[key]; known {
					m.foreign[key] = true
				}
			},
			"step": func(t *rapid.T) { // it may have any effect on its key: a part of it, nothing, or what Proxmox made of it
				read()
				key := rapid.SampledFrom(keys).Draw(t, "key")
				m.record, _ = Effect{Op: cluster.OpConfig, Changes: []guest.Change{{Key: key}}}.Begin(m.record)
				m.live[key], m.foreign[key] = text.Draw(t, "text"), false
				if rapid.Bool().Draw(t, "crash") {
					return // the next reading is that of the next process
				}
				read()
			},
			"restart": func(t *rapid.T) { // of the guest: every key may change
				m.record, _ = Effect{Op: cluster.OpReboot}.Begin(m.record)
				for _, key := range keys {
					m.live[key], m.foreign[key] = text.Draw(t, "text"), false
				}
			},
			"read": func(*rapid.T) { read() },
		})
	})
}

// TestEffect checks which keys a step of each operation may change, and when it takes back what others changed.
func TestEffect(t *testing.T) {
	t.Parallel()
	seen := Values{"memory": "m", "scsi0": "s", "boot": "b", keyState: "r", "node": "n", keyFirewall: "f"}
	all := slices.Sorted(maps.Keys(seen))
	tests := map[string]struct {
		effect Effect
		gone   []string // of the record
		others []string
		want   bool // it repairs
	}{
		"config":            {Effect{Op: cluster.OpConfig, Changes: []guest.Change{{Key: "memory"}}}, []string{"boot", "memory"}, []string{"memory"}, true},
		"config_of_another": {Effect{Op: cluster.OpConfig, Changes: []guest.Change{{Key: "memory"}}}, []string{"boot", "memory"}, []string{"scsi0"}, false},
		"keys_of_the_call":  {Effect{Op: cluster.OpConfig, Calls: []cluster.Call{{Op: cluster.OpConfig, Delete: []string{"scsi0"}}}}, []string{"boot", "scsi0"}, []string{"scsi0"}, true},
		"move":              {Effect{Op: cluster.OpMove, Changes: []guest.Change{{Key: "scsi0"}}}, []string{"boot", "scsi0"}, nil, false},
		"firewall":          {Effect{Op: cluster.OpFirewall, Changes: []guest.Change{{Key: "firewall.rules"}}}, []string{"boot", keyFirewall}, []string{keyFirewall}, true},
		"migrate":           {Effect{Op: cluster.OpMigrate, Changes: []guest.Change{{Key: "node"}}}, all, []string{"node"}, true},
		"start":             {Effect{Op: cluster.OpStart}, all, []string{keyState}, true},
		"start_of_a_new":    {Effect{Op: cluster.OpStart}, all, []string{"memory"}, false},
		"order":             {Effect{Op: cluster.OpStart, Ordered: true}, all, []string{keyState}, false},
		"rollback":          {Effect{Op: cluster.OpRollback, Ordered: true}, all, []string{"memory"}, false},
		"object":            {Effect{Op: cluster.OpObjectSet, Changes: []guest.Change{{Key: "memory"}}}, []string{"boot", "memory"}, []string{"memory"}, true},
		"object_again":      {Effect{Op: cluster.OpObjectAdd, Changes: []guest.Change{{Key: "memory"}}}, all, []string{"memory"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			left, changed := test.effect.Begin(seen)
			var gone []string
			for _, key := range all {
				if _, stays := left[key]; !stays {
					gone = append(gone, key)
				}
			}
			if !slices.Equal(gone, test.gone) || !changed {
				t.Errorf("got %v removed from the record, changed %t, want %v", gone, changed, test.gone)
			}
			if got := test.effect.Repairs(test.others); got != test.want {
				t.Errorf("got repairs %t of %v, want %t", got, test.others, test.want)
			}
		})
	}
}

// TestOf checks that a record says nothing about another object with the same vmid or name.
func TestOf(t *testing.T) {
	t.Parallel()
	key := object.Guest(201)
	state := journal.State{Seen: map[object.Key]journal.Seen{key: journal.NewSeen(key, "i", Values{"memory": "m"})}}
	for identity, want := range map[string]int{"i": 1, "j": 0, "": 0} {
		if got := Of(state, key, identity); len(got) != want {
			t.Errorf("identity %q: got %v, want %d values", identity, got, want)
		}
	}
}

// TestValueHasItsPendingChange changes each part of a native value, and what is no native key.
func TestValueHasItsPendingChange(t *testing.T) {
	t.Parallel()
	d := &guest.Desired{Intents: []guest.Intent{{Key: "memory"}}, State: guest.Running, Pool: "p", HA: &guest.HAWanted{}, Template: true, Firewall: &guest.FirewallWanted{}}
	next := "4096"
	live := func(change func(*guest.Observed)) guest.Observed {
		o := guest.Observed{Status: guest.StatusRunning, Keys: map[string]guest.Value{"memory": {Text: "2048", Set: true}}, Firewall: &guest.FirewallSeen{}}
		change(&o)
		return o
	}
	changes := map[string]func(*guest.Observed){
		"memory": func(o *guest.Observed) { o.Keys["memory"] = guest.Value{Text: "2048", Set: true, Pending: &next} },
		"tags":   func(o *guest.Observed) { o.Keys["tags"] = guest.Value{Text: "a", Set: true} },
		keyState: func(o *guest.Observed) { o.Status = guest.StatusStopped },
		"node":   func(o *guest.Observed) { o.Node = "pve2" }, "pool": func(o *guest.Observed) { o.Pool = "p" }, "ha": func(o *guest.Observed) { o.HA = true },
		"template": func(o *guest.Observed) { o.Template = true }, keyFirewall: func(o *guest.Observed) { o.Firewall.Rules = []guest.FirewallRule{{Action: "DROP"}} },
	}
	before := OfGuest(d, live(func(*guest.Observed) {}))
	for key, change := range changes {
		after := OfGuest(d, live(change))
		var differ []string
		for k := range before {
			if before[k] != after[k] {
				differ = append(differ, k)
			}
		}
		if fmt.Sprint(differ) != fmt.Sprint([]string{key}) {
			t.Errorf("%s: got %v changed, want it alone", key, differ)
		}
	}
}

// TestWhatWasNotReadKeepsItsValue fails to read one part of a guest, between a value and its change by others.
func TestWhatWasNotReadKeepsItsValue(t *testing.T) {
	t.Parallel()
	d := &guest.Desired{Intents: []guest.Intent{{Key: "memory"}}, State: guest.Running, HA: &guest.HAWanted{}, Firewall: &guest.FirewallWanted{Aliases: []guest.FirewallAlias{}}}
	live := func(change func(*guest.Observed)) guest.Observed {
		o := guest.Observed{
			Status: guest.StatusRunning, Keys: map[string]guest.Value{"memory": {Text: "2048", Set: true}}, HA: true, Resource: &guest.HA{State: "started"},
			Firewall: &guest.FirewallSeen{Named: true},
		}
		change(&o)
		return o
	}
	for name, test := range map[string]struct {
		key          string
		fails, other func(*guest.Observed)
	}{
		"state":                   {keyState, func(o *guest.Observed) { o.Status = guest.StatusUnknown }, func(o *guest.Observed) { o.Status = guest.StatusStopped }},
		"entry with the HA":       {"ha", func(o *guest.Observed) { o.Resource = nil }, func(o *guest.Observed) { o.Resource = &guest.HA{State: "stopped"} }},
		"firewall, not asked":     {keyFirewall, func(o *guest.Observed) { o.Firewall = nil }, func(o *guest.Observed) { o.Firewall.Rules = []guest.FirewallRule{{Action: "DROP"}} }},
		"firewall, with an error": {keyFirewall, func(o *guest.Observed) { o.Firewall = &guest.FirewallSeen{Err: "timeout"} }, func(o *guest.Observed) { o.Firewall.Rules = []guest.FirewallRule{{Action: "DROP"}} }},
		"names of the firewall":   {keyFirewall, func(o *guest.Observed) { o.Firewall.Named = false }, func(o *guest.Observed) { o.Firewall.Aliases = []guest.FirewallAlias{{Name: "a"}} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, _ := Follow(nil, OfGuest(d, live(func(*guest.Observed) {})), Differences{})
			differs := Differences{Changes: []guest.Change{{Key: test.key}}}
			if got := ByOthers(before, OfGuest(d, live(test.fails)), differs); len(got) > 0 {
				t.Errorf("got %v changed by others, want nothing known of what was not read", got)
			}
			after, changed := Follow(before, OfGuest(d, live(test.fails)), Differences{})
			if changed || !maps.Equal(before, after) {
				t.Errorf("got %v after a reading without it, want %v", after, before)
			}
			if got := ByOthers(after, OfGuest(d, live(test.other)), differs); !slices.Equal(got, []string{test.key}) {
				t.Errorf("got %v changed by others, want %s", got, test.key)
			}
			if first, _ := Follow(nil, OfGuest(d, live(test.fails)), Differences{}); slices.Contains(slices.Collect(maps.Values(first)), notRead) {
				t.Errorf("got %v in the first record, want only what was read", first)
			}
		})
	}
}
