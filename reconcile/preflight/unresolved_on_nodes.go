package preflight

import (
	"cmp"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// UnresolvedOnNodes returns the names that are not in the answers of the nodes, sorted by kind, name and problem. Names that could not be checked, since a
// list could not be read or the token could not see them, are Unchecked.
func UnresolvedOnNodes(guests []guest.Desired, around ClusterContext, answers map[List]Answer) []Unresolved {
	var order []nameProblem
	mentioned := map[nameProblem][]reference{}
	for i := range guests {
		for _, m := range references(&guests[i], around) {
			f, absent := checkReference(m, answers, around.Granted)
			if !absent {
				continue
			}
			if mentioned[f] == nil {
				order = append(order, f)
			}
			mentioned[f] = append(mentioned[f], m)
		}
	}
	unresolved := make([]Unresolved, 0, len(order))
	for _, f := range order {
		unresolved = append(unresolved, f.unresolved(mentioned[f]))
	}
	slices.SortFunc(unresolved, func(a, b Unresolved) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Problem, b.Problem))
	})
	return unresolved
}

// nameProblem is a problem of a name without the nodes: the text of the nodes is between before and after.
type nameProblem struct {
	kind          Kind
	name          string
	before, after string
	hint          string
	unchecked     bool
}

// checkReference returns the problem of a reference, and whether there is one. It returns none for a storage that no node was asked about because the
// cluster does not show it: UnresolvedOnCluster reports the storage.
func checkReference(m reference, answers map[List]Answer, granted Granted) (nameProblem, bool) {
	answer, asked := answers[m.list]
	f := nameProblem{kind: m.list.Kind, name: m.name, before: "not checked on ", unchecked: true}
	need := neededToSee(m.list, m.name, granted)
	switch {
	case slices.Contains(answer.Names, m.name), !asked && need == "":
		return nameProblem{}, false
	case need != "":
		f.after = ": " + need + " would allow it"
	case answer.Err != nil:
		f.after = ": " + answer.Err.Error()
	default:
		f.before, f.unchecked, f.hint = absentText[f.kind], false, suggestionFor(m, answer.Names)
	}
	return f, true
}

// absentText is the text in front of the nodes for a missing name. A bridge of another configuration than the node's own is not listed, though it exists.
var absentText = map[Kind]string{Bridge: "is not among the bridges and virtual networks of ", Volume: "is not on ", CPU: "is not a CPU model of "}

// unresolved returns the problem with its nodes and causes, without duplicates.
func (f nameProblem) unresolved(mentions []reference) Unresolved {
	s := Unresolved{What: string(f.kind), Name: f.name, Hint: f.hint, Unchecked: f.unchecked}
	var nodes []string
	for _, m := range mentions {
		if !slices.Contains(nodes, m.list.Node) {
			nodes = append(nodes, m.list.Node)
		}
		if last := len(s.For) - 1; last < 0 || s.For[last] != m.cause {
			s.For = append(s.For, m.cause)
		}
	}
	slices.Sort(nodes)
	s.Problem = f.before + strings.Join(nodes, ", ") + f.after
	return s
}

// suggestionFor returns a hint with the most similar of names. It compares volumes by the name after the storage and the type. It also tries the prefix
// of the cluster's own CPU models, which is easily forgotten.
func suggestionFor(m reference, names []string) string {
	if own := "custom-" + m.name; slices.Contains(names, own) {
		return manifest.Suggestion(own, names)
	}
	folder := m.name[:strings.LastIndexAny(m.name, ":/")+1]
	var options []string
	for _, name := range names {
		if rest, inside := strings.CutPrefix(name, folder); inside {
			options = append(options, rest)
		}
	}
	slices.Sort(options)
	return manifest.Suggestion(m.name[len(folder):], options)
}
