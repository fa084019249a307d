package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest"
)

var friday = time.Date(2026, 3, 6, 23, 30, 0, 0, time.UTC)

// webServer is a guest that most tests judge.
func webServer() *Guest {
	g := &Guest{
		Exists: true, Kind: "VirtualMachine", Name: "web-1", VMID: 201, Node: "pve1", Tags: []string{"prod", "web"}, Labels: map[string]string{"stage": "prod", "team": "web"}, State: "running",
		CPU: CPU{4, 2}, Memory: 8 << 30,
		Disks:     []Disk{{Slot: "ide2", Kind: "cdrom", Volume: "local:iso/debian.iso"}, {Slot: "scsi0", Kind: "disk", Storage: "local-lvm", Size: 32 << 30, Backup: true}},
		Networks:  []Network{{Slot: "net0", Bridge: "vmbr0", Connected: true, Signers: []string{"olga"}}, {Slot: "net1", Bridge: "vmbr1", Connected: true, Signers: []string{"wanda"}}},
		Lifecycle: Lifecycle{Destroy: "approve"},
	}
	live := guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine}, Keys: map[string]guest.Value{"memory": set("8192"), "ostype": set("l26")}}
	g.values = guest.ValuesNow(&live)
	g.signers = func(field string) []string { return map[string][]string{"memory": {"olga"}}[field] }
	return g
}

func rule(change func(*Rule)) Rule {
	r := Rule{Name: "p", When: "true", Message: "m", Origin: guest.Origin{File: "p.yaml", Line: 1, Column: 1}, Positions: map[string]guest.Origin{"when": {File: "p.yaml", Line: 6, Column: 9}}}
	change(&r)
	return r
}

func compiledSet(t *testing.T, rules ...Rule) *Set {
	t.Helper()
	set, problems := Compile(rules)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

// TestExpressions evaluates conditions on one guest.
func TestExpressions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		when string
		want bool
	}{
		"memory":         {"new.memory > 4 * 1024 * 1024 * 1024", true},
		"cpu":            {"new.cpu.total == 8 && new.cpu.cores == 4", true},
		"tags":           {`"prod" in new.tags`, true},
		"label":          {`new.labels.?stage.orValue("") == "prod"`, true},
		"missing_label":  {`new.labels.?owner.orValue("nobody") == "nobody"`, true},
		"label_in":       {`"team" in new.labels && new.labels["team"] == "web"`, true},
		"has":            {`has(new.labels.team)`, true},
		"networks":       {`new.networks.exists(n, n.bridge == "vmbr1" && !("ops" in n.signers))`, true},
		"all_backup":     {`new.disks.all(d, d.kind == "cdrom" || d.backup)`, true},
		"iso":            {`new.disks.exists(d, d.kind == "cdrom" && d.volume != "none")`, true},
		"config":         {`new.config["ostype"] == "l26"`, true},
		"signers":        {`"olga" in new.signers["memory"]`, true},
		"name_pattern":   {`new.name.matches("^[a-z]+-[0-9]+$")`, true},
		"lifecycle":      {`new.lifecycle.destroy == "approve"`, true},
		"privileged":     {`new.privileged`, false},
		"old_is_missing": {`old.exists || old.memory != 0 || size(old.tags) > 0`, false},
		"step":           {`step.op == "reboot" && step.class == "disruptive" && step.changes.exists(c, c.key == "memory" && c.to == "8192")`, true},
		"friday":         {`now.getDayOfWeek() == 5`, true},
		"zone":           {`now.getDayOfWeek("Europe/Berlin") == 6`, true},
		"hour":           {`now.getHours() >= 23`, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := compiledSet(t, rule(func(r *Rule) { r.On, r.When = OnStep, test.when }))
			findings := set.Step(&Subject{
				New: webServer(), Old: NoGuest, Now: friday,
				Step: &Step{Op: "reboot", Class: "disruptive", Changes: []Change{{Key: "memory", From: "4096", To: "8192", Class: "restart"}}},
			})
			if got := len(findings) == 1 && !findings[0].Failed; got != test.want || len(findings) == 1 && findings[0].Failed {
				t.Errorf("got %v, want %v", findings, test.want)
			}
		})
	}
}

// TestFindings are results with their messages, sorted by policy.
func TestFindings(t *testing.T) {
	t.Parallel()
	set := compiledSet(t,
		rule(func(r *Rule) { r.Name, r.Result, r.Approvals = "c-approval", RequireApproval, 2 }),
		rule(func(r *Rule) { r.Name, r.Result = "b-warn", Warn }),
		rule(func(r *Rule) {
			r.Name, r.Message, r.Expression = "a-deny", "", `new.name + " has " + string(size(new.networks)) + " NICs, labels " + new.labels.map(k, k).join(",")`
		}),
		rule(func(r *Rule) { r.Name, r.When = "d-false", "false" }),
		rule(func(r *Rule) { r.Name, r.Kinds = "e-other-kind", []guest.Kind{guest.Container} }),
		rule(func(r *Rule) { r.Name, r.Result, r.When = "f-fails", Warn, `new.labels["owner"] == "x"` }),
		rule(func(r *Rule) { r.Name, r.Message, r.Expression = "g-message-fails", "", `new.labels["owner"]` }),
		rule(func(r *Rule) {
			r.Name, r.Message, r.Expression = "h-long", "", `"a\n" + [1,2,3,4,5,6,7,8,9,10].map(i, [1,2,3,4,5,6,7,8,9,10].map(j, "xxxxxxxxxx").join("")).join("")`
		}),
	)
	want := []Finding{
		{Policy: "a-deny", Result: Deny, Message: "web-1 has 2 NICs, labels stage,team"},
		{Policy: "b-warn", Result: Warn, Message: "m"},
		{Policy: "c-approval", Result: RequireApproval, Approvals: 2, Message: "m"},
		{Policy: "f-fails", Result: Deny, Message: "it cannot be evaluated: no such key: owner", Failed: true},
		{Policy: "g-message-fails", Result: Deny, Message: "it cannot be evaluated: no such key: owner", Failed: true},
		{Policy: "h-long", Result: Deny, Message: "a " + strings.Repeat("x", MaxMessage-2) + "…"},
	}
	got := set.Guest(webServer(), Place{})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := Approvals(got); n != 2 {
		t.Errorf("got %d approvals, want 2", n)
	}
	if f, _ := First(got, RequireApproval); f.String() != "c-approval requires an approval: m" {
		t.Errorf("got %q", f)
	}
	if len(set.Guest(NoGuest, Place{})) != 0 {
		t.Error("a policy about guests judged a guest that does not exist")
	}
}

// TestCostIsBounded evaluates an expression that would take very long.
func TestCostIsBounded(t *testing.T) {
	t.Parallel()
	g := webServer()
	for i := range 2000 {
		g.Tags = append(g.Tags, fmt.Sprint("tag", i))
	}
	set := compiledSet(t, rule(func(r *Rule) {
		r.When = `new.tags.all(a, new.tags.all(b, new.tags.exists(c, c == a + b + "x") || true))`
	}))
	findings := set.Guest(g, Place{})
	if len(findings) != 1 || !findings[0].Failed || findings[0].Result != Deny || !strings.Contains(findings[0].Message, "cost") {
		t.Errorf("got %v, want a denial for its cost", findings)
	}
}

// TestSameInputSameFindings evaluates a message over a map many times, in several goroutines.
func TestSameInputSameFindings(t *testing.T) {
	t.Parallel()
	g := webServer()
	for i := range 20 {
		g.Labels[fmt.Sprintf("label-%02d", i)] = "x"
	}
	set := compiledSet(t, rule(func(r *Rule) { r.Message, r.Expression = "", `new.labels.map(k, k).join(" ")` }))
	first := set.Guest(g, Place{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if got := set.Guest(g, Place{}); !slices.Equal(first, got) {
					t.Errorf("got %v, then %v", first, got)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestRejected are policies that are refused, each with its position and a remedy.
func TestRejected(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*Rule)
		want   string
	}{
		"no_condition": {func(r *Rule) { r.When = "" }, `p.yaml:6:9: Policy p: when: got no condition, want an expression (when: "true" applies always)`},
		"syntax":       {func(r *Rule) { r.When = "new.memory >" }, "p.yaml:6:9: Policy p: when: Syntax error: mismatched input '<EOF>'"},
		"unit_of_size": {func(r *Rule) { r.When = "new.memory > 8Gi" }, "(memory and sizes are numbers of bytes: 8Gi is 8 * 1024 * 1024 * 1024)"},
		"type":         {func(r *Rule) { r.When = "new.memory" }, "p.yaml:6:9: Policy p: when: got an expression of type int, want a condition that is true or false"},
		"dyn":          {func(r *Rule) { r.When = "dyn(true)" }, "got an expression of type dyn, want a condition that is true or false"},
		"field":        {func(r *Rule) { r.When = "new.Memory > 1" }, "undefined field 'Memory', at 1:4 of the expression (a Guest has the field memory)"},
		"nested_field": {func(r *Rule) { r.When = `new.networks.exists(n, n.bridges == "x")` }, "(a Network has the field bridge)"},
		"no_such_field": {
			func(r *Rule) { r.When = "new.colour == 'red'" }, "undefined field 'colour', at 1:4 of the expression (docs/policy-fields.md lists the fields)",
		},
		"step_of_a_guest": {func(r *Rule) { r.When = `step.op == "create"` }, "(step exists with on: step)"},
		"old_of_a_guest":  {func(r *Rule) { r.When = `old.memory > 1` }, "(old exists with on: step)"},
		"now_of_a_guest":  {func(r *Rule) { r.When = `now.getDayOfWeek() == 5` }, "(now exists with on: step)"},
		"unknown_name":    {func(r *Rule) { r.When = `secrets.size() > 1` }, "undeclared reference to 'secrets'"},
		"regex":           {func(r *Rule) { r.When = `new.name.matches("(")` }, "invalid matches argument"},
		"timestamp":       {func(r *Rule) { r.On, r.When = OnStep, `now > timestamp("tomorrow")` }, "invalid timestamp"},
		"four_loops": {
			func(r *Rule) { r.When = `[1].all(a, [1].all(b, [1].all(c, [1].all(d, true))))` }, "comprehension exceeds nesting limit",
		},
		"deep":            {func(r *Rule) { r.When = strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200) }, "when: expression recursion limit exceeded: 32"},
		"long":            {func(r *Rule) { r.When = "true" + strings.Repeat(" || true", 1000) }, "got an expression of 8004 bytes, want at most 4096"},
		"makes_an_object": {func(r *Rule) { r.When = `Guest{name: "x"}.name == "x"` }, ""},
		"no_message":      {func(r *Rule) { r.Message = "" }, "p.yaml:1:1: Policy p: message: got no message, want one that says what to do"},
		"two_messages":    {func(r *Rule) { r.Expression = `"x"` }, "messageExpression: got messageExpression beside message, want one of them"},
		"long_message":    {func(r *Rule) { r.Message = strings.Repeat("x", 501) }, "message: got 501 bytes, want at most 500"},
		"message_type":    {func(r *Rule) { r.Message, r.Expression = "", "1" }, "messageExpression: got an expression of type int, want a text"},
		"approvals_of_deny": {
			func(r *Rule) { r.Approvals = 2 }, "approvals: got approvals with result: deny, want result: requireApproval",
		},
		"many_approvals": {func(r *Rule) { r.Result, r.Approvals = RequireApproval, 11 }, "approvals: got 11, want 1 to 10"},
		"operations_of_a_guest": {
			func(r *Rule) { r.Operations = []string{"create"} }, "operations: got operations of steps in a policy about guests (set on: step)",
		},
		"unknown_operation": {
			func(r *Rule) { r.On, r.Operations = OnStep, []string{"delete"} }, "operations: got delete, want operations of steps, such as create, config, reboot or destroy (docs/policies.md lists them)",
		},
		"classes_of_a_guest": {
			func(r *Rule) { r.Classes = []guest.Class{guest.Live} }, "classes: got classes of steps in a policy about guests (set on: step)",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, problems := Compile([]Rule{rule(test.change)})
			if test.want == "" { // refused when it is evaluated
				if f := set.Guest(webServer(), Place{}); len(f) != 1 || !f[0].Failed {
					t.Errorf("got %v, want a failure", f)
				}
				return
			}
			if len(problems) == 0 || !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.String(), test.want) }) {
				t.Errorf("got %v, want %s", problems, test.want)
			}
			if set != nil {
				t.Error("got a Set with problems")
			}
		})
	}
	same := rule(func(*Rule) {})
	if _, problems := Compile([]Rule{same, same}); len(problems) != 1 || !strings.Contains(problems[0].String(), "another Policy has this name (first at p.yaml:1:1)") {
		t.Errorf("got %v", problems)
	}
	many := make([]Rule, MaxRules+1)
	for i := range many {
		many[i] = rule(func(r *Rule) { r.Name = fmt.Sprint("p", i) })
	}
	if _, problems := Compile(many); len(problems) != 1 || !strings.Contains(problems[0].String(), "got 101 policies, want at most 100") {
		t.Errorf("got %v", problems)
	}
}

// TestHasSteps finds policies by operation and class.
func TestHasSteps(t *testing.T) {
	t.Parallel()
	set := compiledSet(t, rule(func(r *Rule) { r.On, r.Operations = OnStep, []string{"destroy"} }), rule(func(r *Rule) { r.Name, r.On, r.Classes = "q", OnStep, []guest.Class{guest.Disruptive} }))
	for _, test := range []struct {
		step Step
		want bool
	}{{Step{Op: "destroy", Class: "destructive"}, true}, {Step{Op: "config", Class: "disruptive"}, true}, {Step{Op: "config", Class: "live"}, false}} {
		if got := set.HasSteps(&test.step, Place{}); got != test.want {
			t.Errorf("%v: got %v, want %v", test.step, got, test.want)
		}
	}
	var none *Set
	if none.HasSteps(&Step{}, Place{}) || none.Len() != 0 || none.Guest(webServer(), Place{}) != nil || none.Step(&Subject{}) != nil {
		t.Error("a nil Set found something")
	}
}
