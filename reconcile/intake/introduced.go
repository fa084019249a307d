package intake

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/policy"
	"gitops-agent/verify"
)

// trace is what the commits of a revision introduced. The zero trace is that of a revision without new commits.
type trace struct {
	recorded bool       // the policy needs the journal's records of who introduced what
	commits  []authored // oldest first

	entered map[journal.Label][][]string // the paths of the signers with paths who brought a manifest into its file, by its label
}

// left returns in which files the manifests of guests were before the revision, by label, of those that are no longer there.
func (t trace) left() map[journal.Label]string {
	files := make(map[journal.Label]string)
	for _, c := range t.commits {
		for label, file := range c.left {
			if _, known := files[label]; !known {
				files[label] = file
			}
		}
	}
	return files
}

// recordsSigners reports whether the agent needs to know who introduced what: a signer is limited to some guests, or its config asks for it.
func recordsSigners(policy *verify.Policy, asked bool) bool {
	return asked || policy.HasLimits()
}

// newIntroduced returns the records of who introduced what that differ from the journal's. If the policy does not need them, it ends all of them:
// they would be out of date when the policy needs them again.
func newIntroduced(accepted Accepted, state journal.State, rewrote bool) []journal.Body {
	next := make(map[journal.Label]journal.Introduced)
	if !accepted.trace.recorded || rewrote {
		for label := range state.Introduced {
			next[label] = journal.Introduced{}
		}
	}
	commits := accepted.trace.commits
	if !accepted.trace.recorded {
		commits = nil
	}
	objects := make(map[journal.Label]bool)
	for _, o := range state.Objects {
		objects[journal.Label{Kind: o.Kind, Name: o.Name}] = true
	}
	owned := make(map[journal.Label]int)
	for vmid, o := range state.Owned {
		owned[journal.Label{Kind: o.Kind, Name: o.Name}] = vmid
	}
	for _, c := range commits {
		for label, fields := range c.fields {
			record, changed := next[label]
			if !changed {
				record = state.Introduced[label]
			}
			by := c.by
			if label.Kind == string(policy.Kind) {
				if by = c.policies[label.Name]; by == nil {
					by = c.scopes
				}
			}
			next[label] = introduce(record, by, fields)
		}
		for _, label := range c.removed {
			next[label] = journal.Introduced{}
			if _, inForce := state.Policies[label.Name]; inForce && label.Kind == string(policy.Kind) {
				next[label] = journal.Introduced{Removed: true, By: withFields(c.by, []string{journal.AllFields})}
			}
			if objects[label] {
				next[label] = journal.Introduced{Removed: true, By: withFields(c.by, []string{journal.AllFields})}
			}
			if vmid := owned[label]; vmid != 0 {
				next[label] = journal.Introduced{VMID: vmid, Removed: true, By: withFields(c.by, []string{journal.AllFields})}
			}
		}
	}
	return introducedRecords(next, accepted, state)
}

// introducedRecords returns the records that differ from the journal's, by label.
func introducedRecords(next map[journal.Label]journal.Introduced, accepted Accepted, state journal.State) []journal.Body {
	wanted := make(map[journal.Label]*guest.Desired, len(next))
	for i := range accepted.guests {
		d := &accepted.guests[i]
		wanted[journal.Label{Kind: string(d.Kind), Name: d.Name}] = d
	}
	var bodies []journal.Body
	labels := slices.SortedFunc(maps.Keys(next), func(a, b journal.Label) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	for _, label := range labels {
		record := next[label]
		record.Kind, record.Name = label.Kind, label.Name
		if d := wanted[label]; d != nil {
			record.By = withoutGoneKeys(record.By, *d)
		}
		if before, known := state.Introduced[label]; known && !reflect.DeepEqual(before, record) || !known && len(record.By) > 0 {
			bodies = append(bodies, record)
		}
	}
	return bodies
}

// introduce returns a record in which the fields are by other signers. Who wrote a guest before its manifest was removed no longer matters.
func introduce(record journal.Introduced, by []journal.Introduction, fields []string) journal.Introduced {
	next := journal.Introduced{}
	if !slices.Contains(fields, journal.AllFields) && !record.Removed {
		for _, old := range record.By {
			old.Fields = slices.DeleteFunc(slices.Clone(old.Fields), func(f string) bool { return slices.Contains(fields, f) })
			if len(old.Fields) > 0 {
				next.By = append(next.By, old)
			}
		}
	}
	next.By = append(next.By, withFields(by, fields)...)
	return next
}

// withFields returns introductions of the given fields.
func withFields(by []journal.Introduction, fields []string) []journal.Introduction {
	list := slices.Clone(by)
	for i := range list {
		list[i].Fields = slices.Clone(fields)
	}
	return list
}

// withoutGoneKeys removes the native keys that the manifest no longer contains, so that a record does not grow with the history of its manifest.
func withoutGoneKeys(list []journal.Introduction, d guest.Desired) []journal.Introduction {
	present := guest.ChangedFields(guest.Desired{}, d)
	var kept []journal.Introduction
	for _, by := range list {
		by.Fields = slices.DeleteFunc(slices.Clone(by.Fields), func(f string) bool {
			return f != journal.AllFields && !isSpecField(f) && !slices.Contains(present, f)
		})
		if len(by.Fields) > 0 {
			kept = append(kept, by)
		}
	}
	return kept
}

// isSpecField reports whether a field of a record is no native key.
func isSpecField(field string) bool {
	return strings.HasPrefix(field, "spec") || field == gate.FieldLabels
}

// LimitsOf returns the limits of the policy's signers for the gate.
func LimitsOf(policy *verify.Policy) gate.Limits {
	limits := make(gate.Limits)
	for entry, list := range policy.Limits() {
		for _, l := range list {
			limit := gate.Limit{Name: l.Name, From: l.From, Until: l.Until, Guests: l.Guests, Paths: l.Paths, Sources: l.Sources}
			for _, role := range l.May {
				limit.May = append(limit.May, string(role))
			}
			for _, r := range l.VMIDs {
				limit.VMIDs = append(limit.VMIDs, gate.VMIDs(r))
			}
			limits[entry] = append(limits[entry], limit)
		}
	}
	return limits
}

// scopeAfter returns the scope that is in force after records of who introduced what are appended.
func scopeAfter(state journal.State, records []journal.Body, limits gate.Limits) gate.Scope {
	introduced := state.Introduced
	if len(records) > 0 {
		introduced = make(map[journal.Label]journal.Introduced, len(state.Introduced)+len(records))
		maps.Copy(introduced, state.Introduced)
	}
	for _, r := range records {
		if i, ok := r.(journal.Introduced); ok {
			introduced[journal.Label{Kind: i.Kind, Name: i.Name}] = i
		}
	}
	return gate.Scope{Limits: limits, Introduced: introduced, Owned: state.Owned, Assigned: state.Assigned}
}
