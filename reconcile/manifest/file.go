package manifest

import (
	"path"
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
	for part := range strings.SplitSeq(f.Path, "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." {
			return false
		}
	}
	extension := path.Ext(f.Path)
	return (extension == ".yaml" || extension == ".yml") && !strings.HasSuffix(f.Path, encrypted.SOPS.Suffix())
}

// documents returns the documents of the file, without the empty ones. It reports what cannot be read.
func (f File) documents(r *report) []*tree.Node {
	documents, problems := tree.Read(f.Path, f.Data)
	r.addTree(problems)
	return documents
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
