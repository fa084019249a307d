package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
)

// An object whose changes can weaken guards of guests is remembered as it was when it agreed with its manifest. If somebody edits it, going back to that is a repair,
// although it may take from guests what the edit gave them. What a manifest wants for the first time is not, and nothing is a repair without a record: as after
// an upgrade of an object that differs from its manifest at that time.
//
// The record of a key begins when the object agrees with its manifest. It ends when a step begins that gives the key another text, and begins again when the key has it:
// such a step has the approvals that it needs. If somebody else gives the key another text that a manifest wants too, no approval was asked for, so from then on neither
// text is one to go back to. Nor is a text that no manifest wants: the record of a key that the manifest does not name only shows that somebody has edited it.

// WithAgreed returns the record of an owned object with what is known now of its agreement with its manifest, and whether that differs from the record. While
// no guest has a guard that changes of the object can weaken, nothing is recorded.
func WithAgreed(owned journal.OwnedObject, d kind.Desired, live cluster.Object, objects Objects) (changed journal.OwnedObject, differs bool) {
	k, known := kinds.Of(d.Kind)
	if !known || !mayWeaken(k, objects) {
		differs = len(owned.Agreed) > 0
		owned.Agreed = nil
		return owned, differs
	}
	agreed := make(map[string]journal.AgreedText, len(k.GuardKeys))
	maps.Copy(agreed, owned.Agreed)
	for _, key := range k.GuardKeys {
		is, isManaged, agrees := textOf(k, key, d, live)
		was, isRecorded := agreed[key]
		switch {
		case !isRecorded && agrees:
			agreed[key] = journal.AgreedText{Text: is, Unsure: !isManaged}
		case isRecorded && (agrees || !isManaged):
			was.Unsure = !isManaged || was.Text != is
			agreed[key] = was
		}
	}
	differs = !maps.Equal(agreed, owned.Agreed)
	owned.Agreed = agreed
	return owned, differs
}

// textOf returns the text of a key of a live object as it is recorded, whether the manifest says what it shall be, and whether it is so.
func textOf(k *kind.Kind, key string, d kind.Desired, live cluster.Object) (text string, isManaged, agrees bool) {
	wanted, isManaged := d.Text(key)
	if key == k.ContentKey() {
		return recordedText(k, key, k.Content.Final(d, live)), isManaged, isManaged && len(k.Content.Changes(d, live)) == 0
	}
	return live.Keys[key], isManaged, !isManaged || live.Keys[key] == wanted
}

// recordedText returns a text of a key as it is recorded: that of a list by its sum, because a list may be long.
func recordedText(k *kind.Kind, key, text string) string {
	if key != k.ContentKey() {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// sureTexts returns the texts of a record to which going back is a repair.
func sureTexts(owned journal.OwnedObject) map[string]string {
	texts := make(map[string]string, len(owned.Agreed))
	for key, agreed := range owned.Agreed {
		if !agreed.Unsure {
			texts[key] = agreed.Text
		}
	}
	return texts
}

// changedGuardKeys returns the keys on which guards depend that a change gives another text, with the new texts as they are recorded.
func changedGuardKeys(k *kind.Kind, c kind.Change) map[string]string {
	texts := make(map[string]string)
	for _, key := range k.GuardKeys {
		if text, isSet := c.Set[key]; isSet || slices.Contains(c.Delete, key) {
			texts[key] = recordedText(k, key, text)
		}
	}
	return texts
}

// restores reports whether a change only gives keys on which guards depend the texts that they had when the object agreed with its manifest.
func restores(k *kind.Kind, c kind.Change) bool {
	texts := changedGuardKeys(k, c)
	for key, text := range texts {
		if agreed, isSure := c.Agreed[key]; !isSure || agreed != text {
			return false
		}
	}
	return len(texts) > 0
}

// Begin returns the record of an owned object when a step begins that changes it: without the texts that the step replaces by others.
func (s ObjectStep) Begin(owned journal.OwnedObject) (changed journal.OwnedObject, differs bool) {
	agreed := maps.Clone(owned.Agreed)
	maps.DeleteFunc(agreed, func(key string, was journal.AgreedText) bool {
		text, isChanged := s.Guarded[key]
		return isChanged && (was.Unsure || was.Text != text)
	})
	differs = len(agreed) != len(owned.Agreed)
	owned.Agreed = agreed
	return owned, differs
}

// editedJobs returns what the backup jobs that somebody has edited back up less than before, by id, for people. A job without a record is compared with its manifest: it may
// have been edited before there was one. A text that the manifest wants too is none that only an edit wants.
func editedJobs(all Objects, got cluster.Snapshot) map[string]string {
	edited := make(map[string]string)
	wanted := make(map[string]kind.Desired)
	for _, d := range all.Wanted {
		if d.Kind == kinds.BackupJobs {
			wanted[d.ID] = d
		}
	}
	for id, live := range got.Objects[kinds.BackupJobs].ByID {
		owned, isOwned := all.Owned[journal.ObjectID{Kind: string(kinds.BackupJobs), ID: id}]
		if !isOwned {
			continue
		}
		if parts := jobEdits(owned, wanted[id], live); len(parts) > 0 {
			edited[id] = id + ": " + strings.Join(parts, ", ")
		}
	}
	return edited
}

// jobEdits returns what an owned backup job backs up less than before.
func jobEdits(owned journal.OwnedObject, d kind.Desired, live cluster.Object) []string {
	k, _ := kinds.Of(kinds.BackupJobs)
	before := make(map[string]string)
	for _, key := range k.GuardKeys {
		text, isManaged := d.Text(key)
		agreed, isRecorded := owned.Agreed[key]
		switch {
		case isManaged && live.Keys[key] == text:
		case isRecorded:
			before[key] = agreed.Text
		case isManaged:
			before[key] = text
		}
	}
	var parts []string
	for _, w := range kinds.BackupEdits(before, live.Keys) {
		parts = append(parts, fmt.Sprintf("%s -> %s", w.Old, w.New))
	}
	return parts
}

// editedJobOf returns what an edited job backs up less that covers a guest, if no job covers the guest that nobody has edited, "" otherwise.
func (d *derived) editedJobOf(at kind.Place, cover coverage) string {
	edited := d.editedJobs()
	for _, p := range at.Each() {
		why := ""
		for e := range cover.now.To(p.Key, edge.Covers) {
			job := edited[edge.ID(e.From)]
			if why = cmp.Or(why, job); job == "" {
				why = ""
				break
			}
		}
		if why != "" {
			return why
		}
	}
	return ""
}
