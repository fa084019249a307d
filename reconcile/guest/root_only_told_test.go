package guest_test

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestRootOnlyIsToldTheSameEverywhere plans a value of every key, on an existing guest and for a new one. For what only root@pam may set, the changes of the plan, the
// condition, its count and the arguments of the command for the node are the same, no call of the agent has it, and a new guest is not started without a
// device.
func TestRootOnlyIsToldTheSameEverywhere(t *testing.T) {
	t.Parallel()
	told := 0
	for _, sample := range guest.WrittenSamples() {
		d := guest.Desired{
			Ref: guest.Ref{Kind: sample.Kind, Name: "new", VMID: newGuest}, Node: "pve1", State: guest.Running, Marker: "gitops-0123abcd",
			Source: guest.Source{Blank: true}, Intents: []guest.Intent{sample.Intent},
		}
		live := map[string]guest.Value{"tags": {Text: d.Marker, Set: true}, "memory": {Text: "512", Set: true}}
		if sample.Kind == guest.Container {
			d.Source = guest.Source{Template: &guest.Template{Volume: "local:vztmpl/x.tar.zst"}}
			if sample.Intent.Key != "rootfs" {
				d.Intents = append(d.Intents, guest.Intent{Key: "rootfs", Verb: guest.Want, Sub: map[string]string{"storage": "local", "size": "1G"}})
			}
			live["rootfs"], live["unprivileged"] = guest.Value{Text: "local:vm-202-disk-0,size=1G", Set: true}, guest.Value{Text: "1", Set: true}
		}
		slices.SortFunc(d.Intents, func(a, b guest.Intent) int { return strings.Compare(a.Key, b.Key) })
		got := cluster.Snapshot{
			Inventory: cluster.Inventory{Rows: []cluster.Row{{Kind: d.Kind, VMID: d.VMID, Node: "pve1"}}},
			Guests:    map[int]guest.Observed{d.VMID: {Ref: d.Ref, Node: "pve1", Status: guest.StatusStopped, Keys: live}},
		}
		owned := journal.Owned{VMID: d.VMID, Kind: string(d.Kind), Name: d.Name, Identity: "i", Tag: d.Marker, Origin: journal.Created, Unstarted: true}
		told += checkTold(t, d, plan.Desired{Cluster: "home", Guests: []guest.Desired{d}, Owned: map[int]journal.Owned{d.VMID: owned}}, got)
		told += checkTold(t, d, plan.Desired{Cluster: "home", Guests: []guest.Desired{d}}, cluster.Snapshot{Absent: map[int]cluster.Absence{d.VMID: cluster.Gone}})
	}
	if told < 60 {
		t.Errorf("plans with something for root@pam: got %d, want at least 60", told)
	}
}

// checkTold checks one plan, and returns 1 if it leaves something to root@pam.
func checkTold(t *testing.T, d guest.Desired, want plan.Desired, got cluster.Snapshot) int {
	t.Helper()
	p := plan.New(want, got).Guests[0]
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s %s=%q%v: "+format, append([]any{d.Kind, d.Intents[0].Key, d.Intents[0].Text, d.Intents[0].Sub}, args...)...)
	}
	byRoot, devices := map[string]string{}, []string(nil)
	for _, c := range p.Changes {
		if c.RootOnly {
			byRoot[c.Key] = c.RootValue
			if guest.IsDevice(d.Kind, c.Key) {
				devices = append(devices, c.Key)
			}
		}
	}
	at := slices.IndexFunc(p.Conditions, func(c plan.Condition) bool { return c.Reason == reason.NeedsRoot })
	if len(byRoot) == 0 {
		if at >= 0 {
			fail("got the condition %+v, want none", p.Conditions[at])
		}
		return 0
	}
	if at < 0 {
		fail("got no condition, want one for %v", byRoot)
		return 1
	}
	c := p.Conditions[at]
	keys := slices.Sorted(maps.Keys(byRoot))
	if !slices.Equal(c.Settings, keys) || !strings.Contains(c.Message, strings.Join(keys, ", ")) {
		fail("got settings %q and %q, want %q", c.Settings, c.Message, keys)
	}
	shown := report.Guest{Sync: report.Synced, Conditions: p.Conditions}.Except()
	if shown == nil || shown.Root != len(keys) || report.NewExcept([]report.Guest{{Sync: report.Synced, Conditions: p.Conditions}}).Root != len(keys) {
		fail("got the count %s, want %d", shown, len(keys))
	}
	if in := commandText(t, c.Hint); !maps.Equal(in, byRoot) {
		fail("got the command %q with %q, want %q", c.Hint, in, byRoot)
	}
	for _, s := range p.Steps {
		for _, call := range s.Calls {
			for key, value := range byRoot {
				if call.Params[key] == value && value != "" || slices.Contains(call.Delete, key) {
					fail("got it in the call %s, want it left to root", call.Op)
				}
			}
		}
		if s.Op == cluster.OpStart && (!slices.Equal(s.Hindrance.Lacks, devices) || len(devices) > 0 && !strings.HasPrefix(s.Hindrance.Hint, c.Hint)) {
			fail("got a first start that lacks %q (%s), want %q and the same command", s.Hindrance.Lacks, s.Hindrance.Hint, devices)
		}
	}
	return 1
}

// commandText returns the keys that a command of a remedy sets, as a shell reads it.
func commandText(t *testing.T, hint string) map[string]string {
	t.Helper()
	_, command, _ := strings.Cut(hint, ": ")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s\\0' "+command).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	keys := map[string]string{}
	for i := 3; i+1 < len(words); i += 2 { // after "pct set 202"
		if words[i] == "--delete" {
			for key := range strings.SplitSeq(words[i+1], ",") {
				keys[key] = ""
			}
			continue
		}
		keys[strings.TrimPrefix(words[i], "--")] = words[i+1]
	}
	return keys
}
