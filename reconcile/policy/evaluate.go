package policy

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"gitops-agent/reconcile/guest"
)

// Subject is what expressions see. The pointers are not nil: NoGuest does not exist.
type Subject struct {
	New, Old *Guest
	Step     *Step
	Now      time.Time
	Place    Place // decides which policies of the repository apply; expressions do not see it

	value ref.Val // of New; nil is made when it is read
}

// ResolveName implements cel.Activation.
func (s *Subject) ResolveName(name string) (any, bool) {
	switch name {
	case varNew:
		if s.value == nil {
			return object{guestType, s.New}, true
		}
		return s.value, true
	case varOld:
		return object{guestType, s.Old}, true
	case varStep:
		return object{stepType, s.Step}, true
	case varNow:
		return types.Timestamp{Time: s.Now}, true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (s *Subject) Parent() cel.Activation { return nil }

// NoGuest is a guest that does not exist.
var NoGuest = &Guest{}

// scratch is the memory for judging one guest at a time: an agent judges thousands of guests one after the other.
type scratch struct {
	subject Subject
	guest   Guest   // of Wanted
	value   ref.Val // guest as a value of CEL
	slots   slotRoom
	key     key
}

var scratches = sync.Pool{New: func() any {
	with := &scratch{}
	with.value = object{guestType, &with.guest}
	return with
}}

// Guest returns what the policies about guests say of a guest that exists or will be created, with a manifest at a place.
func (s *Set) Guest(g *Guest, at Place) []Finding {
	if s == nil || !g.Exists {
		return nil
	}
	with, _ := scratches.Get().(*scratch)
	defer scratches.Put(with)
	return s.judge(g, at, object{guestType, g}, with)
}

// Wanted returns what the policies about guests say of the guest that a manifest wants: the same as Guest of NewGuest, for less work.
func (s *Set) Wanted(d *guest.Desired, live *guest.Observed, signers Signers, at Place) []Finding {
	if s == nil || !slices.ContainsFunc(s.guests, func(c *compiled) bool { return c.isAbout(d.Kind) && c.Reach.Contains(at) }) {
		return nil
	}
	with, _ := scratches.Get().(*scratch)
	defer scratches.Put(with)
	with.guest = Guest{signers: signers, Disks: with.guest.Disks[:0], Networks: with.guest.Networks[:0]}
	with.guest.want(d, live, s.read, &with.slots)
	return s.judge(&with.guest, at, with.value, with)
}

func (s *Set) judge(g *Guest, at Place, value ref.Val, with *scratch) []Finding {
	with.subject = Subject{New: g, value: value}
	var findings []Finding
	for _, c := range s.guests {
		if c.isAbout(guest.Kind(g.Kind)) && c.Reach.Contains(at) {
			if f := c.ofGuest(&with.subject, &with.key); f != nil {
				findings = append(findings, *f)
			}
		}
	}
	return findings
}

// Step returns what the policies about steps say of a step.
func (s *Set) Step(subject *Subject) []Finding {
	if s == nil {
		return nil
	}
	kind := subject.New.Kind
	if !subject.New.Exists {
		kind = subject.Old.Kind
	}
	var findings []Finding
	for _, c := range s.steps {
		if c.isAbout(guest.Kind(kind)) && c.isAboutStep(subject.Step) && c.Reach.Contains(subject.Place) {
			if f := c.finding(subject, false); f != nil {
				findings = append(findings, *f)
			}
		}
	}
	return findings
}

// HasSteps reports whether a policy may be about a step of an operation and a class, of what lies at a place. It is cheaper than Step, which needs the guest.
func (s *Set) HasSteps(step *Step, at Place) bool {
	return s != nil && slices.ContainsFunc(s.steps, func(c *compiled) bool { return c.isAboutStep(step) && c.Reach.Contains(at) })
}

func (c *compiled) isAbout(kind guest.Kind) bool {
	return len(c.Kinds) == 0 || slices.Contains(c.Kinds, kind)
}

func (c *compiled) isAboutStep(step *Step) bool {
	return (len(c.Operations) == 0 || slices.Contains(c.Operations, step.Op)) && (len(c.Classes) == 0 || slices.Contains(c.Classes, guest.Class(step.Class)))
}

// ofGuest evaluates one policy about guests, unless what it says is known from another guest.
func (c *compiled) ofGuest(subject *Subject, k *key) *Finding {
	if c.memo == nil || c.Mistake != "" {
		return c.finding(subject, false)
	}
	if c.applies.isOn() {
		bytes := k.of(subject.New, c.applies.reads)
		if !c.applies.result(bytes, func() bool { return c.mayApply(subject, len(bytes) <= smallInput) }) {
			return nil
		}
	}
	bytes := k.of(subject.New, c.memo.reads)
	return c.memo.result(bytes, func() *Finding { return c.finding(subject, len(bytes) <= smallInput) })
}

// mayApply reports whether the condition is true or cannot be evaluated.
func (c *compiled) mayApply(subject *Subject, small bool) bool {
	value, err := c.when.evaluate(subject, small)
	return err != nil || value != types.False
}

// finding evaluates one policy; nil if its condition is false. Small says that all that the policy reads has at most smallInput bytes. A policy that
// cannot be evaluated denies, whatever its result is.
func (c *compiled) finding(subject *Subject, small bool) *Finding {
	if c.Mistake != "" {
		return &Finding{Policy: c.Name, Result: Deny, Message: cut(oneLine(c.Mistake)), Failed: true, Source: c.source}
	}
	value, err := c.when.evaluate(subject, small)
	if err == nil && value == types.False {
		return nil
	}
	f := Finding{Policy: c.Name, Result: c.Result, Approvals: c.Approvals, Message: c.Message, Source: c.source}
	if err == nil && c.message.counted != nil {
		var text ref.Val
		if text, err = c.message.evaluate(subject, small); err == nil {
			f.Message = cut(text.Value().(string)) //nolint:forcetypeassert // the checker compared the type of the expression
		}
	}
	if err != nil {
		f = Finding{Policy: c.Name, Result: Deny, Message: "it cannot be evaluated: " + cut(oneLine(err.Error())), Failed: true, Source: c.source}
	}
	return &f
}

// program is a compiled expression. To count its cost takes about half of an evaluation.
type program struct {
	counted cel.Program // fails if it costs more than maxCost; nil without an expression
	free    cel.Program // counts nothing, for small inputs; nil if it may cost more than maxCost even then
}

func (p program) evaluate(subject *Subject, small bool) (ref.Val, error) {
	use := p.counted
	if small && p.free != nil {
		use = p.free
	}
	value, _, err := use.Eval(subject)
	return value, err
}

// cut returns a message in one line, with at most MaxMessage bytes.
func cut(message string) string {
	message = strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError {
			return ' '
		}
		return r
	}, message)
	if len(message) <= MaxMessage {
		return message
	}
	end := MaxMessage
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + "…"
}
