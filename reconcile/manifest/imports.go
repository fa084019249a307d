package manifest

import (
	"bytes"
	"path"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
	"gitops-agent/verify/scope"
)

// importPath is a folder relative to that of the Cluster's file.
var importPath = &textRule{
	want: "a folder relative to that of the Cluster, with slashes", examples: []string{"../common"}, accept: isImportPath,
	hintFor: func(s string) string { return didYouMean(path.Clean(s)) },
	shape:   exactly(`(\.\./)*[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*`),
}

func isImportPath(s string) bool { return path.Clean(s) == s }

// maxImports bounds the folders that a Cluster imports.
const maxImports = 16

// Imports returns the folders that the Cluster in some files imports, relative to the root of the source, sorted. A folder outside of the root begins
// with "..". Parse needs the files in these folders, marked as Imported. Of files that Parse refuses, it returns what it understands.
func Imports(files []File) []string {
	var folders []string
	for _, f := range files {
		if !f.isManifest() || !bytes.Contains(f.Data, []byte("imports")) || !bytes.Contains(f.Data, []byte(kindCluster)) {
			continue // most files: they need not be read twice
		}
		for _, n := range f.documents(&report{}) {
			kind, spec := n.Get("kind"), n.Get("spec")
			if kind == nil || kind.Text != kindCluster || spec == nil || spec.Get("imports") == nil {
				continue
			}
			var imports textList
			list(&imports, importPath, "").decode(decoder{report: &report{}}, spec.Get("imports"))
			for _, folder := range texts(imports)[:min(len(imports.value), maxImports)] {
				folders = append(folders, path.Join(path.Dir(f.Path), folder))
			}
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// ClusterNames returns the names of the manifests of the kind Cluster in a file, of what it can read of the file.
func ClusterNames(f File) []string {
	if !f.isManifest() || !bytes.Contains(f.Data, []byte(kindCluster)) {
		return nil
	}
	var names []string
	for _, n := range f.documents(&report{}) {
		kind, meta := n.Get("kind"), n.Get("metadata")
		if kind == nil || kind.Text != kindCluster || meta == nil {
			continue
		}
		if name := meta.Get("name"); name != nil {
			names = append(names, name.Text)
		}
	}
	return names
}

// checkImports reports folders of the Cluster that cannot be imported.
func (p *parser) checkImports(files []File) {
	d := decoder{report: p.report, label: kindCluster + "/" + p.set.Cluster.Name}
	for i, one := range p.imports.value {
		d.path = one.path
		folder := path.Join(p.folder(), one.value)
		isIn := func(f File) bool { return f.isManifest() && scope.IsWithin(f.Path, folder) }
		switch {
		case i >= maxImports:
			d.problem(one.at, "got more than 16 imports", "put the folders into one")
		case scope.IsWithin(p.folder(), folder):
			d.problem(one.at, "got "+tree.Quote(one.value)+", which contains the folder of the Cluster, want a folder beside it", "")
		case !slices.ContainsFunc(files, isIn):
			d.problem(one.at, "got "+tree.Quote(one.value)+", where the repository has no manifests", "the path begins at the folder of the Cluster's file, and stays within the repository")
		}
	}
}

// mayBeImported reports whether a document may be in an imported folder: only classes that guests name are.
func (p *parser) mayBeImported(doc *document) bool {
	problem := Problem{Origin: guest.Origin(doc.at), Guest: doc.label()}
	if doc.kind.value != kindClass {
		problem.Message, problem.Hint = "got a "+doc.kind.value+" in a folder that the Cluster imports, want only documents of the kind "+kindClass, "move it to the folder of the cluster that it belongs to"
		p.report.add(problem)
		return false
	}
	if doc.spec != nil {
		if selects := doc.spec.Get("select"); selects != nil && !selects.IsNull() {
			problem.Origin, problem.Field = guest.Origin(selects.Key), "select"
			problem.Message, problem.Hint = "got select in a class of an imported folder, where no guests are", "remove it, and list the class in spec.class of the guests"
			p.report.add(problem)
		}
	}
	return true
}
