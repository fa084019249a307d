package preflight

import (
	"cmp"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// UnresolvedOnNodes compares what guests refer to with what nodes answered, and returns what is not there, sorted by kind, name and problem. What could
// not be read, or would not show to the token if it were there, is among it as Unchecked.
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
	strays := make([]Unresolved, 0, len(order))
	for _, f := range order {
		strays = append(strays, f.unresolved(mentioned[f]))
	}
	slices.SortFunc(strays, func(a, b Unresolved) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Problem, b.Problem))
	})
	return strays
}

// nameProblem is what is wrong with a name, apart from where: the nodes stand between the two parts of its text.
type nameProblem struct {
	kind          Kind
	name          string
	before, after string
	hint          string
	unchecked     bool
}

// checkReference reports what is wrong with a mention, if anything is. A storage that the cluster does not show to a token that would see it, and that no
// node was asked for, is a stray of its own.
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

// absentText says that something is not there, before the nodes. A bridge that is not in a node's own configuration is there without being listed.
var absentText = map[Kind]string{Bridge: "is not among the bridges and virtual networks of ", Volume: "is not on ", CPU: "is no cpu model of "}

// unresolved returns the finding with its nodes and with whom it concerns, each once.
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

// suggestionFor proposes one of names. What a volume is called comes after its storage and its type, and a model of the cluster's own has a prefix that
// is easily forgotten.
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
