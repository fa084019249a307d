package policytest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/manifest/tree"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
)

// monday is the time of a case without one.
var monday = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// caseVMID is the vmid of a guest whose case names none.
const caseVMID = 100

// Run judges every case. An error is a mistake in the table.
func (t *Table) Run() (Result, error) {
	r := Result{File: t.file, Policies: t.rules.Len(), Cases: []CaseResult{}}
	var problems []error
	for i := range t.Cases {
		c := &t.Cases[i]
		found, err := c.findings(t)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: case %s: %w", t.file, c.Name, err))
			continue
		}
		result := CaseResult{Name: c.Name, Found: append([]policy.Finding{}, found...)}
		result.Problems = c.compare(found)
		result.Passed = len(result.Problems) == 0
		r.Cases = append(r.Cases, result)
	}
	return r, errors.Join(problems...)
}

// findings returns what the policies say of the step of a case.
func (c *Case) findings(t *Table) ([]policy.Finding, error) {
	var wanted []guest.Desired
	seen := map[int]guest.Observed{}
	step := plan.Step{Op: cluster.Op(cmp.Or(c.Step.Op, string(cluster.OpConfig))), Class: guest.Class(cmp.Or(c.Step.Class, string(guest.Live))), Volumes: c.Step.Volumes}
	if !slices.Contains(cluster.Ops(), step.Op) || !slices.Contains(guest.Classes(), step.Class) {
		return nil, fmt.Errorf("got step %s of class %s, want an operation and a change class of docs/policies.md", step.Op, step.Class)
	}
	if !c.Old.IsZero() {
		d, err := desired("old", &c.Old)
		if err != nil {
			return nil, err
		}
		step.Guest, seen[d.VMID] = d.Ref, observed(&d)
	}
	if !c.New.IsZero() {
		d, err := desired("new", &c.New)
		if err != nil {
			return nil, err
		}
		d.Origin.File = c.fileIn(t)
		step.Guest, wanted = d.Ref, append(wanted, d)
	}
	for _, change := range c.Step.Changes {
		step.Changes = append(step.Changes, guest.Change{Key: change.Key, From: change.From, To: change.To, Class: guest.Class(cmp.Or(change.Class, string(guest.Live)))})
	}
	if c.Step.Order != "" {
		step.Order = &order.Open{Request: order.Request{Op: step.Op, Guest: step.Guest}, Order: journal.Order{Ordered: journal.Ordered{Signer: c.Step.Order}}}
	}
	judge := gate.Gate{Now: c.Time, Rules: gate.NewRules(t.rules, wanted, map[int][]journal.Former{step.Guest.VMID: {{File: c.fileIn(t)}}}), Seen: seen, Scope: gate.Scope{Introduced: c.introduced(step.Guest)}}
	if judge.Now.IsZero() {
		judge.Now = monday
	}
	return judge.Findings(step), nil
}

// fileIn returns the file of the guest as it is in the positions of policies, "" if the case names none.
func (c *Case) fileIn(t *Table) string {
	if c.File == "" {
		return ""
	}
	return path.Join(t.root, c.File)
}

// introduced returns the signers of a case as the journal records them.
func (c *Case) introduced(ref guest.Ref) map[journal.Label]journal.Introduced {
	var by []journal.Introduction // "*" is journal.AllFields
	for _, field := range slices.Sorted(maps.Keys(c.Signers)) {
		for _, name := range c.Signers[field] {
			by = append(by, journal.Introduction{Signer: name, Fields: []string{field}})
		}
	}
	if by == nil {
		return nil
	}
	label := journal.Label{Kind: string(ref.Kind), Name: ref.Name}
	return map[journal.Label]journal.Introduced{label: {Kind: label.Kind, Name: label.Name, By: by}}
}

// desired reads a guest of a case as a manifest.
func desired(field string, n *yaml.Node) (guest.Desired, error) {
	var document map[string]any
	if err := n.Decode(&document); err != nil {
		return guest.Desired{}, fmt.Errorf("line %d: %s: %w", n.Line, field, err)
	}
	if document == nil {
		return guest.Desired{}, fmt.Errorf("line %d: %s: got nothing, want kind: VirtualMachine or Container", n.Line, field)
	}
	document["apiVersion"] = manifest.APIVersion
	data, err := encode(document)
	if err != nil {
		return guest.Desired{}, fmt.Errorf("line %d: %s: %w", n.Line, field, err)
	}
	set, err := manifest.Parse([]manifest.File{{Path: "cluster.yaml", Data: []byte("apiVersion: " + manifest.APIVersion + "\nkind: Cluster\nmetadata: {name: cases}\nspec: {vmids: {from: 100, to: 999}}\n")}, {Path: "guest.yaml", Data: data}})
	if err != nil {
		return guest.Desired{}, fmt.Errorf("line %d: %s: %w", n.Line, field, withoutFile(err))
	}
	guests, err := set.Lower(nil)
	if err != nil || len(guests) != 1 {
		return guest.Desired{}, fmt.Errorf("line %d: %s: got %d guests, want kind: VirtualMachine or Container", n.Line, field, len(guests))
	}
	guests[0].VMID = cmp.Or(guests[0].VMID, caseVMID)
	return guests[0], nil
}

// encode returns a decoded value as YAML that is read back unchanged.
func encode(value any) ([]byte, error) {
	n, err := nodeOf(value)
	if err != nil {
		return nil, err
	}
	return tree.Encode(n)
}

// nodeOf returns a decoded value as a node. The library's own function reads texts back, and so changes those with characters that tree.Encode escapes.
func nodeOf(value any) (*yaml.Node, error) {
	n := &yaml.Node{}
	switch v := value.(type) {
	case map[string]any:
		n.Kind = yaml.MappingNode
		for _, key := range slices.Sorted(maps.Keys(v)) {
			child, err := nodeOf(v[key])
			if err != nil {
				return nil, err
			}
			name := &yaml.Node{}
			name.SetString(key)
			n.Content = append(n.Content, name, child)
		}
	case []any:
		n.Kind = yaml.SequenceNode
		for _, item := range v {
			child, err := nodeOf(item)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
	case string:
		n.SetString(v)
	default:
		return n, n.Encode(v)
	}
	return n, nil
}

// withoutFile returns the problems of a manifest without their positions, which are not those of the table.
func withoutFile(err error) error {
	var problems *manifest.Problems
	if !errors.As(err, &problems) {
		return err
	}
	var lines []error
	for _, p := range problems.List {
		p.Origin = guest.Origin{}
		lines = append(lines, errors.New(p.String()))
	}
	return errors.Join(lines...)
}

// observed returns a guest that is as a manifest wants it.
func observed(d *guest.Desired) guest.Observed {
	values := guest.ValuesAfter(d, nil)
	o := guest.Observed{Ref: d.Ref, Node: d.Node, Pool: d.Pool, Template: d.Template, HA: d.HA != nil && !d.HA.Absent, Status: guest.StatusRunning, Keys: map[string]guest.Value{}}
	if d.State == guest.Stopped {
		o.Status = guest.StatusStopped
	}
	for _, key := range values.Keys() {
		o.Keys[key] = guest.Value{Text: values.Text(key), Set: true}
	}
	return o
}

// compare returns how the findings differ from those that are wanted.
func (c *Case) compare(found []policy.Finding) []string {
	var problems []string
	left := slices.Clone(found)
	for _, w := range c.Want {
		at := slices.IndexFunc(left, w.matches)
		if at < 0 {
			problems = append(problems, "no policy says: "+w.String())
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	for _, f := range left {
		problems = append(problems, "not wanted: "+f.String())
	}
	return problems
}

func (w Wanted) matches(f policy.Finding) bool {
	return w.Policy == f.Policy && w.Result == f.Result && (w.Approvals == 0 || w.Approvals == f.Approvals) && w.Failed == f.Failed && strings.Contains(f.Message, w.Message)
}

// String returns "two-nics deny".
func (w Wanted) String() string {
	text := w.Policy + " " + string(w.Result)
	if w.Approvals != 0 {
		text += fmt.Sprintf(" by %d", w.Approvals)
	}
	if w.Message != "" {
		text += " with " + w.Message
	}
	return text
}
