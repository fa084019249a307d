package manifest

import (
	"path"
	"slices"
	"strings"

	"gitops-agent/reconcile/manifest/tree"
	"gitops-agent/verify/scope"
)

// selector selects the guests to which a class applies without being named: guests in and below the folder of the class's file that match all
// conditions. The folder limits the effect: a person who may change only one folder cannot affect guests in another folder, unless these guests
// name the class.
type selector struct {
	paths  textList
	labels textMap
	order  opt[int]
}

func (s *selector) fields() []field {
	return []field{
		{"paths", "", "Files of guests, relative to the folder of the Cluster's file, in or below the folder of the class: * matches any part of a name, ** any folders. One must match.", list(&s.paths, pathPattern, "")},
		{"labels", "", "Labels that a guest must have, each with this value.", withExamples(labels(&s.labels), `{"tier": "web"}`)},
		{"order", "", "Classes of lower order are merged first; classes of the same order by name. Default: 0.", integer(&s.order, -1000, 1000)},
	}
}

// check reports a selector that matches every guest or none. Other mistakes are reported by decoding.
func (s *selector) check(d decoder, p place, written *tree.Node) {
	if !hasContent(written.Get("paths")) && !hasContent(written.Get("labels")) {
		d.problem(p.at, "got no paths and no labels, want some", "put what every guest inherits in the defaults of the Cluster")
	}
	for _, pattern := range s.paths.value {
		if !strings.ContainsAny(pattern.value, "*?[") && path.Ext(pattern.value) != ".yaml" && path.Ext(pattern.value) != ".yml" {
			d.path = pattern.path
			d.problem(pattern.at, "got "+tree.Quote(pattern.value)+", which is not the name of a manifest", didYouMean(pattern.value+"/**"))
		}
	}
}

// hasContent reports whether a value exists and is not empty.
func hasContent(n *tree.Node) bool {
	return n != nil && (n.Kind == tree.Scalar && !n.IsNull() || len(n.Items)+len(n.Entries) > 0)
}

// checkReach reports paths outside the folder of the class: a class can only select guests in and below this folder.
func (s *selector) checkReach(d decoder, own, cluster string) {
	for _, pattern := range s.paths.value {
		literal := pattern.value
		if i := strings.IndexAny(literal, "*?[\\"); i >= 0 {
			literal = literal[:i]
		}
		meant := path.Join(cluster, literal)
		if !scope.IsWithin(meant, own) && !scope.IsWithin(own, meant) && !strings.HasPrefix(own, meant) {
			d.path = pattern.path
			d.problem(pattern.at, "got "+tree.Quote(pattern.value)+", want files in or below "+own+", the folder of the class",
				"move the class beside the Cluster, or name it in spec.class of the guests")
		}
	}
}

// InFolders reports whether a file of a repository is in one of some folders, or is one of these paths. Without folders every file is.
func InFolders(file string, folders []string) bool {
	return len(folders) == 0 || slices.ContainsFunc(folders, func(folder string) bool { return scope.IsWithin(file, path.Clean(folder)) })
}

// matches reports whether the selector selects the guest of a document. Folder is the folder of the Cluster.
func (s *selector) matches(doc *document, folder string) bool {
	for name, want := range s.labels {
		if have, there := doc.meta.labels[name]; !there || have.value != want.value {
			return false
		}
	}
	return s.matchesFile(doc, folder)
}

// matchesFile reports whether one of the paths matches the file of a guest, or there are no paths.
func (s *selector) matchesFile(doc *document, folder string) bool {
	file, below := doc.fileBelow(folder)
	return len(s.paths.value) == 0 || below && slices.ContainsFunc(texts(s.paths), func(pattern string) bool {
		return matchesPath(strings.Split(pattern, "/"), strings.Split(file, "/"))
	})
}

// fileBelow returns the document's file relative to a folder, and whether it is in the folder.
func (d *document) fileBelow(folder string) (file string, below bool) {
	if folder == "." {
		return d.at.File, true
	}
	return strings.CutPrefix(d.at.File, folder+"/")
}

// matchesPath compares folder by folder. A ** matches any number of folders, and at the end any file below. The search only returns to the last **,
// which is sufficient and keeps patterns with many of them cheap.
func matchesPath(pattern, file []string) bool {
	p, f := 0, 0
	last, covered := -1, 0 // the last ** and how many folders it covers
	for f < len(file) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			last, covered = p, f
			p++
		case p < len(pattern) && matchesName(pattern[p], file[f]):
			p, f = p+1, f+1
		case last >= 0:
			covered++
			p, f = last+1, covered
		default:
			return false
		}
	}
	return p == len(pattern)
}

func matchesName(pattern, name string) bool {
	fits, err := path.Match(pattern, name)
	return err == nil && fits
}
