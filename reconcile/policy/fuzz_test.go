package policy

import (
	"slices"
	"testing"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"
)

// FuzzPolicy compiles and evaluates expressions: the same expression gives the same findings, with and without a count of its cost, messages are bounded, and
// nothing panics.
func FuzzPolicy(f *testing.F) {
	for _, seed := range []string{
		`new.memory > 1`, `new.labels.?stage.orValue("") == "prod"`, `new.networks.exists(n, n.bridge == "vmbr1")`, `step.op == "destroy" && "prod" in old.tags`,
		`now.getDayOfWeek("Europe/Berlin") == 5`, `new.labels.map(k, k + new.labels[k]).join(",") != ""`, `new == old`, `[new].size() > 0`, `type(new) == type(old)`, `dyn(new).x == 1`, `{"a": new}["a"].name == ""`, `"%s %.3f %d".format([new.name, 1.5, new.tags.size()]).size() > 3`,
		`[new.tags, ["x"]].map(t, t.join("-").replace("", "ab").split("b")) == [[new.name]]`, `new.tags.map(t, dyn(t) + dyn("x")).exists(t, t in ["a"] || strings.quote(string(t)).indexOf("x") > 2)`, `string(new) == ""`,
	} {
		f.Add(seed, `new.name + "x"`)
	}
	f.Fuzz(func(t *testing.T, when, message string) {
		for _, on := range []On{OnGuest, OnStep} {
			set, problems := Compile([]Rule{{Name: "p", On: on, When: when, Expression: message}})
			if (set == nil) == (len(problems) == 0) {
				t.Fatalf("got set %v with problems %v", set, problems)
			}
			if set == nil {
				continue
			}
			judge := func() []Finding {
				s := &Subject{New: webServer(), Old: NoGuest, Step: &Step{Op: "config", Class: "live"}, Now: friday}
				return append(set.Guest(s.New, Place{}), set.Step(s)...)
			}
			for _, c := range append(set.guests, set.steps...) {
				c.when.compareCosts(t, &Subject{New: webServer(), Old: NoGuest, Step: &Step{Op: "config", Class: "live"}, Now: friday})
			}
			first := judge()
			if again := judge(); !slices.Equal(first, again) {
				t.Fatalf("got %v, then %v", first, again)
			}
			for _, found := range first {
				if len(found.Message) > MaxMessage+100 || !utf8.ValidString(found.Message) {
					t.Fatalf("got message %q", found.Message)
				}
			}
		}
	})
}

// compareCosts evaluates an expression of a small guest with and without a count of its cost. An expression that exceeds the limit is never evaluated without.
func (p program) compareCosts(t *testing.T, subject *Subject) {
	t.Helper()
	if p.free == nil {
		return
	}
	counted, _, err := p.counted.Eval(subject)
	free, _, freeErr := p.free.Eval(subject)
	if (err == nil) != (freeErr == nil) || err == nil && counted.Equal(free) != types.True {
		t.Fatalf("got %v, %v with a count of the cost, and %v, %v without", counted, err, free, freeErr)
	}
}
