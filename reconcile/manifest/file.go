package manifest

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// File is one file of the source. Path is relative to the root of the source.
type File struct {
	Path     string
	Data     []byte
	Imported bool // it is in a folder that the Cluster imports, and not in the source itself
}

// isManifest reports whether the file is read: it is YAML by its name, not a file of SOPS, and neither hidden nor below a hidden folder, where forges and
// editors keep YAML of their own.
func (f File) isManifest() bool {
	return !f.isHidden() && slices.Contains(Suffixes(), path.Ext(f.Path)) && !strings.HasSuffix(f.Path, encrypted.SOPS.Suffix())
}

func (f File) isHidden() bool {
	return slices.ContainsFunc(strings.Split(f.Path, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") && part != "." && part != ".."
	})
}

// Suffixes returns the endings of the names of manifests.
func Suffixes() []string { return []string{".yaml", ".yml"} }

// OtherSuffixes returns endings of names that people give to manifests by mistake. Such files are not read. See IsMisnamed.
func OtherSuffixes() []string {
	return []string{".YAML", ".YML", ".Yaml", ".Yml", ".yaml.txt", ".yml.txt", ".json"}
}

var manifestVersion = regexp.MustCompile(`(?m)(?:^|[{,])\s*"?apiVersion"?\s*:\s*["']?` + regexp.QuoteMeta(apiGroup))

// IsMisnamed reports whether the file is a manifest by its content and not by its name, so that it is not read. Parse warns of such files.
func (f File) IsMisnamed() bool {
	hasEnding := func(ending string) bool { return strings.HasSuffix(f.Path, ending) }
	return !f.isHidden() && slices.ContainsFunc(OtherSuffixes(), hasEnding) && bytes.Contains(f.Data, []byte(apiGroup)) && manifestVersion.Match(f.Data)
}

const namesOfManifests = "names of manifests end in .yaml or .yml, in small letters"

// checkNames warns of manifests that are not read because of their names.
func (p *parser) checkNames(warnings *report) {
	for _, name := range p.misnamed {
		warnings.add(Problem{Origin: guest.Origin{File: name, Line: 1, Column: 1}, Message: "got a manifest in a file that is not read because of its name", Hint: "rename the file: " + namesOfManifests})
	}
}

// clusterHint returns the remedy for a source without a Cluster.
func (p *parser) clusterHint() string {
	switch {
	case len(p.misnamed) > 0:
		return p.misnamed[0] + " is not read: " + namesOfManifests
	case !p.anyRead:
		return "no manifest was found: " + namesOfManifests + ", and folders that begin with a dot are not read"
	default:
		return "add a document of kind: Cluster"
	}
}

// WarnOfEmpty adds a warning for each folder, or file, among several of a source that has none of the files that were read.
func (s *Set) WarnOfEmpty(folders []string, files []File) {
	var empty []Problem
	for _, folder := range folders {
		if !slices.ContainsFunc(files, func(f File) bool { return f.isManifest() && InFolders(f.Path, []string{folder}) }) {
			empty = append(empty, Problem{Message: "no file of " + tree.Quote(folder) + " is a manifest", Hint: namesOfManifests})
		}
	}
	s.Warnings = slices.Concat(empty, s.Warnings)
}

// documents returns the documents of the file, without the empty ones. It reports what cannot be read.
func (f File) documents(r *report) []*tree.Node { return f.read().report(f, r) }

func (f File) read() readFile {
	documents, problems := tree.Read(f.Path, f.Data)
	return readFile{f.Data, documents, problems}
}

// report reports what cannot be read of a file, and returns its documents.
func (read readFile) report(f File, r *report) []*tree.Node {
	r.addTree(read.problems)
	if c, is := tree.Lookalike(f.Path); is {
		r.add(Problem{Origin: guest.Origin{File: f.Path, Line: 1, Column: 1}, New: true, Message: "the path of the file: " + tree.SeemsOther(c), Hint: "rename the file or its folder"})
	}
	return read.documents
}

// addTree adds the problems of a file.
func (r *report) addTree(problems []tree.Problem) {
	for _, p := range problems {
		if p.Warns {
			r.warnings = append(r.warnings, Problem{Origin: guest.Origin(p.At), Message: p.Message, Hint: p.Hint})
			continue
		}
		r.add(Problem{Origin: guest.Origin(p.At), Message: p.Message, Hint: p.Hint, New: p.New})
	}
}
