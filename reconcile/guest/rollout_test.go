package guest

import (
	"testing"
	"time"
)

func TestRolloutIsWeaker(t *testing.T) {
	t.Parallel()
	base := Rollout{Name: "web", Canary: 2, MaxUnavailable: Share{10, true}, MaxPerNode: Share{2, false}, Pause: time.Hour, FailAfter: time.Minute, Prometheus: "http://10.0.0.9", Query: "up"}
	tests := map[string]struct {
		change func(*Rollout)
		weaker bool
	}{
		"same":               {func(*Rollout) {}, false},
		"none":               {func(r *Rollout) { *r = Rollout{} }, true},
		"name":               {func(r *Rollout) { r.Name = "db" }, true},
		"smaller_canary":     {func(r *Rollout) { r.Canary = 1 }, false},
		"larger_canary":      {func(r *Rollout) { r.Canary = 3 }, true},
		"named_canary":       {func(r *Rollout) { r.CanaryGuests = "VirtualMachine/web-1" }, true},
		"fewer":              {func(r *Rollout) { r.MaxUnavailable.Value = 5 }, false},
		"more":               {func(r *Rollout) { r.MaxUnavailable.Value = 20 }, true},
		"number":             {func(r *Rollout) { r.MaxUnavailable = Share{1, false} }, true},
		"no_limit_of_a_node": {func(r *Rollout) { r.MaxPerNode = Share{} }, true},
		"shorter_pause":      {func(r *Rollout) { r.Pause = time.Minute }, true},
		"approval":           {func(r *Rollout) { r.Pause, r.Approval = 0, true }, false},
		"live":               {func(r *Rollout) { r.Live = true }, false},
		"later_failure":      {func(r *Rollout) { r.FailAfter = time.Hour }, true},
		"no_query":           {func(r *Rollout) { r.Query = "" }, true},
		"another_query":      {func(r *Rollout) { r.Query = "vector(1)" }, true},
	}
	for name, test := range tests {
		next := base
		test.change(&next)
		if got := next.IsWeakerThan(base); got != test.weaker {
			t.Errorf("%s: got weaker %t, want %t", name, got, test.weaker)
		}
		if decoded, ok := DecodeRollout(next.Encode()); ok != (next != Rollout{}) || decoded != next {
			t.Errorf("%s: got %+v from the journal, want %+v", name, decoded, next)
		}
		if (next.String() == base.String()) != (next == base) {
			t.Errorf("%s: got the text %q for other settings too", name, next)
		}
		if name == "no_query" {
			continue
		}
		if got := next.Stricter(base); next.Name == base.Name && base.Query == next.Query && next.MaxUnavailable.Percent && next.CanaryGuests == "" && got.IsWeakerThan(base) {
			t.Errorf("%s: got %s, which is weaker than %s", name, got, base)
		}
	}
	if base.IsWeakerThan(Rollout{}) {
		t.Error("got a first rollout weaker than none")
	}
	approval := base
	approval.Approval, approval.Pause = true, 0
	if !base.IsWeakerThan(approval) {
		t.Error("got a pause as strong as an approval")
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for text, of200 := range map[string]int{"3": 3, "10%": 20, "1%": 2, "100%": 200} {
		s, ok := ParseShare(text)
		if !ok || s.Of(200) != of200 || s.String() != text {
			t.Errorf("%s: got %v, %d, want %d", text, s, s.Of(200), of200)
		}
	}
	if s, _ := ParseShare("10%"); s.Of(3) != 1 {
		t.Errorf("got %d of three guests, want at least one", s.Of(3))
	}
	for _, text := range []string{"", "0", "0%", "101%", "-1", "+1", "01", "1.5%", "ten", "10 %"} {
		if s, ok := ParseShare(text); ok {
			t.Errorf("%q: got %v, want it refused", text, s)
		}
	}
}

func TestMayInterrupt(t *testing.T) {
	t.Parallel()
	from := Desired{Ref: Ref{Kind: VirtualMachine, Name: "web-1", VMID: 201}, State: Running, Intents: []Intent{{Key: "memory", Text: "1024"}, {Key: "tags", Text: "a"}}}
	set := func(key, text string) Desired {
		d := from
		d.Intents = []Intent{{Key: "memory", Text: "1024"}, {Key: "tags", Text: "a"}}
		for i := range d.Intents {
			if d.Intents[i].Key == key {
				d.Intents[i].Text = text
				return d
			}
		}
		d.Intents = append(d.Intents, Intent{Key: key, Text: text})
		return d
	}
	with := func(change func(*Desired)) Desired { d := from; change(&d); return d }
	tests := map[string]struct {
		to         Desired
		want, live bool
	}{
		"same":           {from, false, false},
		"memory":         {set("memory", "2048"), true, true},
		"tags":           {set("tags", "b"), false, true},
		"unknown_key":    {set("new0", "x"), true, true},
		"network":        {set("net0", "virtio,bridge=vmbr0"), true, true},
		"protection":     {set("protection", "0"), true, true},
		"node":           {with(func(d *Desired) { d.Nodes = []string{"pve2"} }), true, true},
		"pool":           {with(func(d *Desired) { d.Pool = "web" }), false, true},
		"firewall":       {with(func(d *Desired) { d.Firewall = &FirewallWanted{} }), false, true},
		"stopped":        {with(func(d *Desired) { d.State = Stopped }), true, true},
		"power_is_left":  {with(func(d *Desired) { d.State = Ignored }), false, false},
		"dependency":     {with(func(d *Desired) { d.DependsOn = []string{"VirtualMachine/db-1"} }), false, false},
		"labels":         {with(func(d *Desired) { d.Labels = map[string]string{"tier": "web"} }), false, false},
		"observe":        {with(func(d *Desired) { d.Observe = true }), false, false},
		"ignored_no_mor": {with(func(d *Desired) { d.Ignore = []string{"memory"} }), true, true},
		"rollout":        {with(func(d *Desired) { d.Rollout.Name = "web" }), false, false},
	}
	for name, test := range tests {
		if got := MayInterrupt(from, test.to, false); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
		if got := MayInterrupt(from, test.to, true); got != test.live {
			t.Errorf("%s with live: got %t, want %t", name, got, test.live)
		}
	}
}
