package planview

import (
	"slices"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile"
)

// noteView is something that a person may write into a manifest, and that no step changes: the size of a volume that is larger than its least size.
type noteView struct {
	Guest   string `json:"guest"` // its label
	Key     string `json:"key"`
	Message string `json:"message"`
	Origin  string `json:"origin,omitempty"`
}

// newNotes returns the notes on the guests with the given labels, or on all guests if there are none.
func newNotes(preview reconcile.Preview, labels []string) []noteView {
	var notes []noteView
	for i := range preview.Guests {
		ref := preview.Guests[i].Ref
		if len(labels) > 0 && !slices.Contains(labels, ref.Label()) {
			continue
		}
		for _, l := range preview.Larger[ref] {
			notes = append(notes, noteView{Guest: ref.Label(), Key: l.Key, Message: l.String(), Origin: l.Origin.String()})
		}
	}
	return notes
}

// String returns "VirtualMachine/web-1 scsi0: a disk never shrinks: the live size is 20G; write it (web.yaml:12:5)".
func (n noteView) String() string {
	text := n.Guest + " " + n.Key + ": " + n.Message
	if n.Origin != "" {
		text += " (" + n.Origin + ")"
	}
	return text
}

// writeNotes prints notes, after the guests.
func (t textPrinter) writeNotes(notes []noteView) {
	for _, n := range notes {
		t.line(term.Plain, "", "note: "+n.String())
	}
}
