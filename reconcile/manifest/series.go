package manifest

import (
	"bytes"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/manifest/tree"
)

// Series parses trees one after the other, of which each has most files of the one before. A file with the same path and bytes is not read again, and its guests are not decoded again if the
// Cluster, the classes and the Images are the same too. The Sets share memory, which nobody changes. The zero Series has parsed nothing.
type Series struct{ last remembered }

// ParseEarlier is the function ParseEarlier for the next tree of the series.
func (s *Series) ParseEarlier(files []File) (Set, error) {
	p := newAcceptedParser()
	p.before, p.now = s.last, &remembered{files: make(map[fileKey]readFile), guests: make(map[documentKey]parsedGuest)}
	p.parse(files)
	s.last = *p.now
	return p.set, p.report.err()
}

// remembered is what a tree of a series has in common with the next one.
type remembered struct {
	files  map[fileKey]readFile
	shared []*tree.Node // documents on which guests depend: of the Cluster, classes and Images, in the order of the files
	guests map[documentKey]parsedGuest
}

type fileKey struct {
	path     string
	imported bool
}

// readFile is a file as it was read. Its documents have the same nodes in each tree that has the file.
type readFile struct {
	data      []byte
	documents []*tree.Node
	problems  []tree.Problem
}

// documentKey is the document of a guest: the node of its file, and the row of a GuestSet, from 1.
type documentKey struct {
	node *tree.Node
	row  int
}

// parsedGuest is a guest without problems and warnings.
type parsedGuest struct {
	guest   Guest
	spec    spec
	partial guest.Desired
}

// readFile reads a file, unless the tree before had it.
func (p *parser) readFile(f File) readFile {
	if p.now == nil {
		return f.read()
	}
	key := fileKey{f.Path, f.Imported}
	read, known := p.before.files[key]
	if !known || !bytes.Equal(read.data, f.Data) {
		read = f.read()
	}
	p.now.files[key] = read
	return read
}

// noteShared notes a document on which guests depend.
func (p *parser) noteShared(doc *document) {
	if p.now != nil && slices.Contains([]string{kindCluster, kindClass, string(image.Kind)}, doc.kind.value) {
		p.now.shared = append(p.now.shared, doc.from.node)
	}
}

// forgetGuests forgets the guests of the tree before if a document differs on which guests depend.
func (p *parser) forgetGuests() {
	if p.now != nil && !slices.Equal(p.before.shared, p.now.shared) {
		p.before.guests = nil
	}
}

// guest adds the guest of a document to the set, which is decoded unless the tree before had it.
func (p *parser) guest(doc *document) {
	one, known := p.before.guests[doc.from]
	if !known {
		problems, warnings := p.report.count, len(p.report.warnings)
		one = p.decodeGuest(doc)
		known = p.report.count == problems && len(p.report.warnings) == warnings
	}
	if p.now != nil && known {
		p.now.guests[doc.from] = one
	}
	p.specs[doc.label()], p.partial[doc.label()] = one.spec, one.partial
	p.set.Guests = append(p.set.Guests, one.guest)
}
