package manifest

import (
	"maps"
	"path"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/verify/scope"
)

// checkUnusedClasses warns of classes without effect: classes whose select matches no guest, and classes without select that no guest and no class
// names, unless the class is imported. This is not an error: the guest may be added later.
func (p *parser) checkUnusedClasses(r *report) {
	named := maps.Clone(p.named)
	for _, one := range p.classes {
		for _, base := range one.spec.class.value {
			named[base.value] = true
		}
	}
	for name, one := range p.classes {
		warning := Problem{Origin: guest.Origin(one.at), Guest: kindClass + "/" + name}
		switch s := &one.spec.selects; {
		case s.set && !slices.ContainsFunc(p.guests, func(doc *document) bool { return one.selects(doc, p.folder()) }):
			warning.Origin, warning.Field = guest.Origin(s.at), s.path
			warning.Message, warning.Hint = "no guest matches", p.selectHint(one)
			r.add(warning)
		case !s.set && !named[name] && !one.imported:
			warning.Message, warning.Hint = "no guest and no class names it", "list it in spec.class of a guest, or give it a select"
			r.add(warning)
		}
	}
}

// selectHint returns a hint for a select that matches no guest: the most similar label or path.
func (p *parser) selectHint(one *class) string {
	s, own := &one.spec.selects.value, path.Dir(one.at.File)
	var reach []*document
	for _, doc := range p.guests {
		if scope.IsWithin(doc.at.File, own) {
			reach = append(reach, doc)
		}
	}
	if len(reach) == 0 {
		return "there is no guest in or below " + own + ", the folder of the class"
	}
	for _, name := range slices.Sorted(maps.Keys(s.labels)) {
		if hint, fits := nearestLabel(name, s.labels[name].value, reach); !fits {
			return hint
		}
	}
	if slices.ContainsFunc(reach, func(doc *document) bool { return s.matchesFile(doc, p.folder()) }) {
		return "each condition matches some guest, but no guest matches all of them"
	}
	for _, pattern := range s.paths.value {
		if meant := nearestPath(pattern.value, reach, p.folder()); meant != "" {
			return didYouMean(meant)
		}
	}
	return ""
}

// nearestLabel reports whether a guest has a label with a value. If not, it returns a hint with the most similar label.
func nearestLabel(name, value string, guests []*document) (hint string, fits bool) {
	var names, values []string
	for _, doc := range guests {
		names = slices.AppendSeq(names, maps.Keys(doc.meta.labels))
		if have, there := doc.meta.labels[name]; there {
			values = append(values, have.value)
		}
	}
	slices.Sort(names) // the result must not depend on the order of a map
	slices.Sort(values)
	switch {
	case slices.Contains(values, value):
		return "", true
	case len(values) > 0:
		return labelPairHint(name, closest(value, values)), false
	default:
		return labelPairHint(closest(name, names), value), false
	}
}

// labelPairHint returns a hint with a label and its value, or "" if one of them is unknown.
func labelPairHint(name, value string) string {
	if name == "" || value == "" {
		return ""
	}
	return didYouMean(name + ": " + value)
}

// nearestPath returns a pattern with its first folders replaced by the folders of a guest, if they are similar.
func nearestPath(pattern string, guests []*document, folder string) string {
	parts := strings.Split(pattern, "/")
	literal := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, `*?[\`) })
	if literal < 0 {
		literal = len(parts)
	}
	var candidates []string
	for _, doc := range guests {
		file, below := doc.fileBelow(folder)
		if have := strings.Split(file, "/"); below && len(have) >= literal {
			candidates = append(candidates, strings.Join(append(have[:literal], parts[literal:]...), "/"))
		}
	}
	return closest(pattern, candidates)
}
