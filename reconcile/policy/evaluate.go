package policy

import (
	"slices"
	"strings"
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
}

// ResolveName implements cel.Activation.
func (s *Subject) ResolveName(name string) (any, bool) {
	switch name {
	case varNew:
		return object{guestType, s.New}, true
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
var NoGuest = (&Guest{}).sealed()

// Guest returns what the policies about guests say of a guest that exists or will be created.
func (s *Set) Guest(g *Guest) []Finding {
	if s == nil || !g.Exists {
		return nil
	}
	subject := &Subject{New: g}
	var findings []Finding
	for _, c := range s.guests {
		if c.isAbout(guest.Kind(g.Kind)) {
			findings = c.appendFinding(findings, subject)
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
		if c.isAbout(guest.Kind(kind)) && c.isAboutStep(subject.Step) {
			findings = c.appendFinding(findings, subject)
		}
	}
	return findings
}

// HasSteps reports whether a policy may be about a step of an operation and a class. It is cheaper than Step, which needs the guest.
func (s *Set) HasSteps(step *Step) bool {
	return s != nil && slices.ContainsFunc(s.steps, func(c *compiled) bool { return c.isAboutStep(step) })
}

func (c *compiled) isAbout(kind guest.Kind) bool {
	return len(c.Kinds) == 0 || slices.Contains(c.Kinds, kind)
}

func (c *compiled) isAboutStep(step *Step) bool {
	return (len(c.Operations) == 0 || slices.Contains(c.Operations, step.Op)) && (len(c.Classes) == 0 || slices.Contains(c.Classes, guest.Class(step.Class)))
}

// appendFinding evaluates one policy. A policy that cannot be evaluated denies, whatever its result is.
func (c *compiled) appendFinding(findings []Finding, subject *Subject) []Finding {
	value, err := evaluate(c.when, subject)
	if err == nil && value == types.False {
		return findings
	}
	f := Finding{Policy: c.Name, Result: c.Result, Approvals: c.Approvals, Message: c.Message}
	if err == nil && c.message != nil {
		var text ref.Val
		if text, err = evaluate(c.message, subject); err == nil {
			f.Message = cut(text.Value().(string)) //nolint:forcetypeassert // the checker compared the type of the expression
		}
	}
	if err != nil {
		f = Finding{Policy: c.Name, Result: Deny, Message: "it cannot be evaluated: " + cut(oneLine(err.Error())), Failed: true}
	}
	return append(findings, f)
}

func evaluate(program cel.Program, subject *Subject) (ref.Val, error) {
	value, _, err := program.Eval(subject)
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
