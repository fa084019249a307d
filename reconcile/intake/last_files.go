package intake

import (
	"slices"

	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/verify/scope"
)

// lastFiles decides which file the journal records as that of the last manifest of a guest, an Image or another object: approvals are compared with it when the manifest is removed.
// Paths limit files and not guests, so a signer with paths can bring the manifest of any guest into an own file. The signer must not become an approver of the guest by that.
type lastFiles struct {
	before  map[journal.Label]string     // of the manifests of the revision before; nil if it is not known, and no recorded file changes then
	entered map[journal.Label][][]string // as in trace
}

// after returns the file to record of a manifest that lies in a file: this one, or the recorded one if a signer brought the manifest there who may not change the recorded one. The gate then
// compares approvals with both, until a signer who may change both moves the manifest. What exists without a recorded file had its last manifest under an older release, in an unknown
// file, so journal.UnknownFile is recorded if a signer with paths brings back the manifest.
func (l lastFiles) after(label journal.Label, exists bool, recorded, file string) string {
	switch {
	case recorded == "" && exists && len(l.entered[label]) > 0:
		return journal.UnknownFile
	case recorded == "" || recorded == file:
		return file
	case l.before == nil, l.before[label] == file: // it was there already, and the recorded one counted nevertheless
		return recorded
	case slices.ContainsFunc(l.entered[label], func(paths []string) bool { return !scope.HasPath(paths, recorded) }):
		return recorded
	}
	return file
}

// ofObject is after for an object that the agent owns.
func (l lastFiles) ofObject(recorded string, d kind.Desired) string {
	return l.after(journal.Label{Kind: string(d.Kind), Name: d.Name}, true, recorded, d.Origin.File)
}

// files returns in which files the manifests of the revision lie, by label; nil for the zero value.
func (a Accepted) files() map[journal.Label]string {
	if !a.Valid() {
		return nil
	}
	files := filesOf(a.set.Images, a.set.Objects)
	for i := range a.guests {
		files[guard.LabelOf(a.guests[i].Ref)] = a.guests[i].Origin.File
	}
	return files
}

func filesOf(images []image.Desired, objects []kind.Desired) map[journal.Label]string {
	files := make(map[journal.Label]string, len(images)+len(objects))
	for _, d := range images {
		files[journal.Label{Kind: string(image.Kind), Name: d.Name}] = d.Origin.File
	}
	for _, d := range objects {
		files[journal.Label{Kind: string(d.Kind), Name: d.Name}] = d.Origin.File
	}
	return files
}
