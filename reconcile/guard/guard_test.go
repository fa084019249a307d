package guard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// wanted returns a guest with the default guards, changed.
func wanted(vmid int, change ...func(*guest.Desired)) guest.Desired {
	d := guest.Desired{
		Ref: guest.Ref{Kind: guest.VirtualMachine, Name: fmt.Sprintf("web-%d", vmid), VMID: vmid}, Origin: guest.Origin{File: "web.yaml", Line: 1, Column: 1},
		Lifecycle: guest.Lifecycle{Destroy: guest.Approve, Recreate: guest.Approve, RebootPolicy: guest.RebootNever},
		Settings:  []guest.Setting{{Field: guest.GuardRecreate, Origin: guest.Origin{File: "web.yaml", Line: 2, Column: 3}}},
	}
	for _, c := range change {
		c(&d)
	}
	return d
}

// inForce returns a journal's state in which the guards of the guests are in force.
func inForce(guests ...guest.Desired) journal.State {
	state := journal.State{Owned: map[int]journal.Owned{}, Guarded: map[int]journal.Guarded{}, ClusterGuards: &journal.ClusterGuarded{Approvals: 2, MaxDestroysPerDay: 3}}
	for i := range guests {
		d := &guests[i]
		state.Owned[d.VMID] = journal.Owned{VMID: d.VMID, Kind: string(d.Kind), Name: d.Name, Identity: fmt.Sprintf("id-%d", d.VMID), Origin: journal.Created}
		g := Of(d)
		g.Identity = state.Owned[d.VMID].Identity
		state.Guarded[d.VMID] = g
	}
	return state
}

func input(state journal.State, guests ...guest.Desired) Input {
	return Input{Cluster: manifest.Cluster{Name: "home", Guards: manifest.Guards{Approvals: 2, MaxDestroysPerDay: 3}}, Guests: guests, State: state, At: noon}
}

func window(text string) func(*guest.Desired) {
	return func(d *guest.Desired) { d.Lifecycle.RebootPolicy, d.Lifecycle.Window = guest.RebootWindow, text }
}

func suspended(until time.Time) func(*guest.Desired) {
	return func(d *guest.Desired) { d.Suspend = &guest.Suspension{Reason: "r", Until: until} }
}

// TestWeakenings weakens each guard: the change is found, and the opposite change is none.
func TestWeakenings(t *testing.T) {
	t.Parallel()
	type change = func(*guest.Desired)
	destroy := func(p guest.Permission) change { return func(d *guest.Desired) { d.Lifecycle.Destroy = p } }
	reboot := func(p guest.RebootPolicy) change { return func(d *guest.Desired) { d.Lifecycle.RebootPolicy = p } }
	protection := func(text string) change {
		return func(d *guest.Desired) {
			d.Intents = []guest.Intent{{Key: "memory", Text: "1"}, {Key: "protection", Verb: guest.Want, Text: text}}
		}
	}
	rollout := func(percent int) change {
		return func(d *guest.Desired) {
			d.Rollout = guest.Rollout{Name: "web", Canary: 1, MaxUnavailable: guest.Share{Value: percent, Percent: true}, FailAfter: time.Minute}
		}
	}
	fw := func(rules ...guest.FirewallRule) change {
		return func(d *guest.Desired) {
			d.Firewall = &guest.FirewallWanted{Guarded: true, Options: map[string]string{"enable": "1"}, Rules: rules, Aliases: []guest.FirewallAlias{}, Sets: []guest.FirewallSet{}}
			d.Intents = []guest.Intent{{Key: "net0", Verb: guest.Want, Sub: map[string]string{"firewall": "1"}}}
		}
	}
	ssh := guest.FirewallRule{Type: "in", Action: "ACCEPT", Protocol: "tcp", DestPort: "22", Enabled: true}
	none := func(*guest.Desired) {}
	tests := map[string]struct {
		strong, weak change
		want         string
	}{
		"destroy_deny":     {destroy(guest.Deny), destroy(guest.Approve), "lifecycle.destroy: deny -> approve"},
		"destroy_allow":    {destroy(guest.Approve), destroy(guest.Allow), "lifecycle.destroy: approve -> allow"},
		"recreate":         {none, func(d *guest.Desired) { d.Lifecycle.Recreate = guest.Allow }, "lifecycle.recreate: approve -> allow"},
		"reboot_approve":   {none, reboot(guest.RebootApprove), "lifecycle.rebootPolicy: never -> approve"},
		"reboot_window":    {reboot(guest.RebootApprove), window("Sat 02:00-04:00 UTC"), "lifecycle.rebootPolicy: approve -> window Sat 02:00-04:00 UTC"},
		"reboot_auto":      {window("Sat 02:00-04:00 UTC"), reboot(guest.RebootAuto), "lifecycle.rebootPolicy: window Sat 02:00-04:00 UTC -> auto"},
		"window_longer":    {window("Sat 02:00-04:00 UTC"), window("Sat 02:00-05:00 UTC"), "lifecycle.rebootPolicy: window Sat 02:00-04:00 UTC -> window Sat 02:00-05:00 UTC"},
		"shutdown_timeout": {none, func(d *guest.Desired) { d.Lifecycle.ShutdownTimeout = time.Minute }, "lifecycle.shutdownTimeout: 3m0s -> 1m0s"},
		"force_stop":       {none, func(d *guest.Desired) { d.Lifecycle.ForceStop = true }, "lifecycle.forceStop: false -> true"},
		"protection_off":   {protection("1"), protection("0"), "lifecycle.protection: on -> off"},
		"protection_gone":  {protection("yes"), none, "lifecycle.protection: on -> unmanaged"},
		"protection_ignored": {
			protection("1"), func(d *guest.Desired) { protection("1")(d); d.Ignore = []string{"protection"} }, "lifecycle.protection: on -> unmanaged",
		},
		"mode":            {func(d *guest.Desired) { d.Observe = true }, none, "mode: observe -> enforce"},
		"suspend":         {suspended(noon.Add(time.Hour)), none, "suspend: until 2026-03-01T13:00:00Z -> none"},
		"suspend_earlier": {suspended(noon.Add(time.Hour)), suspended(noon.Add(time.Minute)), "suspend: until 2026-03-01T13:00:00Z -> until 2026-03-01T12:01:00Z"},
		"suspend_ends":    {suspended(time.Time{}), suspended(noon.Add(time.Hour)), "suspend: without end -> until 2026-03-01T13:00:00Z"},
		"rollout_gone":    {rollout(10), none, "rollout: web canary=1 maxUnavailable=10% pause=0s failAfter=1m0s -> none"},
		"rollout_faster":  {rollout(10), rollout(20), "rollout: web canary=1 maxUnavailable=10% pause=0s failAfter=1m0s -> web canary=1 maxUnavailable=20% pause=0s failAfter=1m0s"},
		"backup":          {func(d *guest.Desired) { d.Backup = true }, none, "backup: required -> not required"},
		"firewall_gone":   {fw(), func(d *guest.Desired) { fw()(d); d.Firewall = nil }, "firewall: guarded ec9052f19749dacfff871d1c1bdbc0e6 -> not guarded"},
		"firewall_opened": {fw(), fw(ssh), `firewall: guarded ec9052f19749dacfff871d1c1bdbc0e6 -> guarded 50305be74072e7a5bc154ea87132b764 ("in ACCEPT tcp to port 22" admits what no rule admitted before)`},
		"firewall_card":   {fw(), func(d *guest.Desired) { fw()(d); d.Intents[0].Sub["firewall"] = "0" }, "firewall: guarded ec9052f19749dacfff871d1c1bdbc0e6 -> guarded 0f7e07f773701063b05d1848e1d7b9d4 (net0 has no firewall: true any more)"},
		"adopt":           {none, func(d *guest.Desired) { d.Adopt = true }, "adopt: deny -> ifUnmanaged"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strong, weak := wanted(201, test.strong), wanted(201, test.weak)
			r := Resolve(input(inForce(strong), weak))
			if len(r.Weakenings) != 1 || r.Weakenings[0].String() != test.want {
				t.Fatalf("got %v, want %s", r.Weakenings, test.want)
			}
			if got, want := withoutPlace(Of(&r.Guests[0])), withoutPlace(Of(&strong)); got != want {
				t.Errorf("got %+v in effect, want the old guards %+v", got, want)
			}
			if back := Resolve(input(inForce(weak), strong)); len(back.Weakenings) != 0 || Of(&back.Guests[0]) != Of(&strong) {
				t.Errorf("got %v for the opposite change, want it in effect at once", back.Weakenings)
			}
		})
	}
}

func withoutPlace(g journal.Guarded) journal.Guarded { g.Rules.RecreateDefault = false; return g }

// TestIncomparableValuesAreWeaker changes guards to values that are neither stronger nor weaker.
func TestIncomparableValuesAreWeaker(t *testing.T) {
	t.Parallel()
	for old, next := range map[string]string{
		"Sat 02:00-04:00 UTC": "Sun 02:00-04:00 UTC", "Sat 02:00-03:00 Europe/Berlin": "Sat 02:00-03:00 Europe/Paris", "Sat 22:00-02:00 UTC": "Sun 00:00-02:30 UTC",
	} {
		if r := Resolve(input(inForce(wanted(201, window(old))), wanted(201, window(next)))); len(r.Weakenings) != 1 {
			t.Errorf("%s -> %s: got %v, want it held", old, next, r.Weakenings)
		}
	}
	if r := Resolve(input(inForce(wanted(201, window("Sat 22:00-02:00 UTC"))), wanted(201, window("Sun 00:00-02:00 UTC")))); len(r.Weakenings) != 0 {
		t.Errorf("got %v for a part of the window, want it in effect at once", r.Weakenings)
	}
}

// TestEndedSuspensionIsNoGuard lifts a suspension after its end.
func TestEndedSuspensionIsNoGuard(t *testing.T) {
	t.Parallel()
	state := inForce(wanted(201, suspended(noon)))
	if r := Resolve(input(state, wanted(201))); len(r.Weakenings) != 0 || r.Guests[0].Suspend != nil {
		t.Errorf("got %v and %v, want nothing held", r.Weakenings, r.Guests[0].Suspend)
	}
}

// TestDigest checks that the digest stays the same across releases and commits, and that it covers what a person approves.
func TestDigest(t *testing.T) {
	t.Parallel()
	base := Weakening{Field: guest.GuardDestroy, Old: "deny", New: "allow", Guests: []Object{{guest.Ref{VMID: 202}, "b"}, {guest.Ref{VMID: 201}, "a"}}}
	const golden = "0868606e0df1a1042fc521ce823c87a8"
	moved := base
	moved.Origin = guest.Origin{File: "other.yaml", Line: 7, Column: 1}
	sorted := base
	sorted.Guests = []Object{base.Guests[1], base.Guests[0]}
	for name, w := range map[string]Weakening{"base": base, "another_line": moved, "another_order": sorted} {
		if got := w.sealed("home").Digest; got != golden {
			t.Errorf("%s: got %s, want %s", name, got, golden)
		}
	}
	field, value, other, identity := base, base, base, base
	field.Field, value.New, other.Guests = guest.GuardRecreate, "approve", base.Guests[:1]
	identity.Guests = []Object{base.Guests[0], {guest.Ref{VMID: 201}, "c"}}
	seen := []string{golden, base.sealed("away").Digest}
	for _, w := range []Weakening{field, value, other, identity} {
		seen = append(seen, w.sealed("home").Digest)
	}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 6 {
		t.Errorf("got %v, want six digests", seen)
	}
}

// TestReleaseIsWhatWasAsked compares random guards: those in effect are never weaker than those in force, an acceptance never records a weaker one, and
// when all weakenings are released, exactly the wanted guards are in force.
func TestReleaseIsWhatWasAsked(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 3))
	changes := []func(*guest.Desired){
		func(d *guest.Desired) {
			d.Lifecycle.Destroy = []guest.Permission{guest.Deny, guest.Approve, guest.Allow}[rng.IntN(3)]
		},
		func(d *guest.Desired) {
			d.Lifecycle.Recreate = []guest.Permission{guest.Deny, guest.Approve, guest.Allow}[rng.IntN(3)]
		},
		func(d *guest.Desired) {
			d.Lifecycle.RebootPolicy = []guest.RebootPolicy{guest.RebootNever, guest.RebootApprove, guest.RebootAuto}[rng.IntN(3)]
		},
		func(d *guest.Desired) {
			window([]string{"Sat 02:00-04:00 UTC", "Sat 01:00-04:00 UTC", "Sun 02:00-04:00 UTC"}[rng.IntN(3)])(d)
		},
		func(d *guest.Desired) { d.Lifecycle.ShutdownTimeout = time.Duration(1+rng.IntN(5)) * time.Minute },
		func(d *guest.Desired) { d.Lifecycle.ForceStop = !d.Lifecycle.ForceStop },
		func(d *guest.Desired) { *d = d.WithProtection() },
		func(d *guest.Desired) { d.Observe = !d.Observe },
		func(d *guest.Desired) { suspended(noon.Add(time.Duration(rng.IntN(5)-1) * time.Hour))(d) },
		func(d *guest.Desired) { d.Adopt = !d.Adopt },
	}
	random := func() guest.Desired {
		d := wanted(201)
		for range rng.IntN(6) {
			changes[rng.IntN(len(changes))](&d)
		}
		return d
	}
	found := 0
	for range 2000 {
		before, after := random(), random()
		state := inForce(before)
		now, in := state.Guarded[201], input(state, after)
		r := Resolve(in)
		effective, accepted := Of(&r.Guests[0]), Accept(&after, state, noon)
		for _, f := range fields {
			if f.isWeaker(&effective, &now, noon) || f.isWeaker(&accepted, &now, noon) {
				t.Fatalf("seed %d: %s: got %+v in effect and %+v accepted, want none weaker than %+v", seed, f.name, effective, accepted, now)
			}
		}
		found += len(r.Weakenings)
		state.Guarded[201] = accepted
		for _, body := range Release(input(state, after), Resolve(input(state, after)).Weakenings) {
			state.Guarded[201] = body.(journal.Guarded)
		}
		if left := Resolve(input(state, after)); len(left.Weakenings) != 0 {
			t.Fatalf("seed %d: got %v after all weakenings were released, want none", seed, left.Weakenings)
		}
	}
	if found < 1000 {
		t.Errorf("seed %d: got %d weakenings, want many", seed, found)
	}
}

// TestMinimumTexts lists every bound.
func TestMinimumTexts(t *testing.T) {
	t.Parallel()
	limit := 0
	m := Minimum{Approvals: 2, MaxDestroysPerDay: &limit, Destroy: guest.Deny, Recreate: guest.Approve, RebootPolicy: guest.RebootNever}
	want := "approvals: at least 2|destroys in a day: at most 0|lifecycle.destroy: at least deny|lifecycle.recreate: at least approve|lifecycle.rebootPolicy: at least never"
	if got := strings.Join(m.Texts(), "|"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (Minimum{}).Texts(); len(got) != 0 {
		t.Errorf("got %v without a bound, want none", got)
	}
}

// BenchmarkResolve resolves guests of which one line weakens a tenth.
func BenchmarkResolve(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("guests=%d", n), func(b *testing.B) {
			var before, after []guest.Desired
			for i := range n {
				d := wanted(100 + i)
				before = append(before, d)
				if i%10 == 0 {
					d.Lifecycle.Destroy = guest.Allow
				}
				after = append(after, d)
			}
			in := input(inForce(before...), after...)
			for b.Loop() {
				if r := Resolve(in); len(r.Weakenings) != 1 {
					b.Fatal(len(r.Weakenings))
				}
			}
		})
	}
}
