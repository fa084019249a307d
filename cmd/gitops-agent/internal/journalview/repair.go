package journalview

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"
)

// RepairOptions name the journal to repair.
type RepairOptions struct {
	Dir    string
	Yes    bool // repair without asking
	Prompt term.Prompt
	JSON   bool
}

// repairDocument is the JSON result of a repair.
type repairDocument struct {
	SchemaVersion int      `json:"schemaVersion"`
	Damaged       bool     `json:"damaged"` // whether the journal was damaged
	Damage        string   `json:"damage,omitempty"`
	Kept          int      `json:"kept"`          // records
	Lost          []gap    `json:"lost"`          // records after the last compaction
	LostCompacted int      `json:"lostCompacted"` // records of the last compaction
	LostBytes     int64    `json:"lostBytes"`
	UnknownOrders []string `json:"unknownOrders"` // keys
	Foreign       []string `json:"foreignFiles"`  // of another journal, also moved away
	Saved         string   `json:"saved,omitempty"`
}

// gap is a run of lost records, by sequence.
type gap struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// Repair makes a damaged journal usable again and prints what was kept and lost. It asks before it changes anything. A journal without damage is
// not changed.
func Repair(out io.Writer, opts RepairOptions) error {
	var report journal.RepairReport
	var damage *journal.DamageError
	switch _, err := journal.Read(opts.Dir, func(journal.Record) error { return nil }); {
	case errors.As(err, &damage):
		if err := opts.confirm(damage); err != nil {
			return err
		}
		if report, err = journal.Repair(opts.Dir); err != nil {
			return repairError(err)
		}
	case err != nil:
		return withSourceHint(InDir(opts.Dir), err)
	}
	document := newRepairDocument(opts.Dir, report)
	if opts.JSON {
		return term.WriteJSON(out, document)
	}
	document.write(out)
	return nil
}

// confirm returns nil if the user confirms the repair.
func (o RepairOptions) confirm(damage *journal.DamageError) error {
	if o.Yes {
		return nil
	}
	confirmed, err := o.Prompt.Confirm(fmt.Sprintf("%s: byte %d: the journal is damaged: %s\nRecords that cannot be read are lost to the agent; the damaged files are kept. Repair it?", damage.File, damage.Offset, damage.Err))
	switch {
	case errors.Is(err, term.ErrNotInteractive):
		return term.WithHint(damage, "--yes repairs it without a terminal; docs/internals/journal.md describes which records are kept")
	case err != nil:
		return err
	case !confirmed:
		return errors.New("not confirmed, so nothing was changed")
	}
	return nil
}

func repairError(err error) error {
	if errors.Is(err, journal.ErrLocked) {
		return term.WithHint(err, "stop the agent, repair, and start it again")
	}
	return err
}

func newRepairDocument(dir string, r journal.RepairReport) repairDocument {
	d := repairDocument{
		SchemaVersion: term.SchemaVersion, Damaged: r.Damage != nil, Kept: r.Kept, Lost: []gap{}, LostCompacted: r.LostCompacted, LostBytes: r.LostBytes,
		UnknownOrders: append([]string{}, r.Orders...), Foreign: append([]string{}, r.Foreign...),
	}
	if r.Damage == nil {
		return d
	}
	d.Damage, d.Saved = fmt.Sprintf("%s: byte %d: %v", r.Damage.File, r.Damage.Offset, r.Damage.Err), filepath.Join(dir, r.Saved)
	for _, g := range r.Lost {
		d.Lost = append(d.Lost, gap{g.First, g.Last})
	}
	return d
}

func (d repairDocument) write(out io.Writer) {
	if !d.Damaged {
		_, _ = fmt.Fprintln(out, "journal: whole; nothing was changed")
		return
	}
	_, _ = fmt.Fprintln(out, "journal: repaired")
	t := term.Table{Indent: "  "}
	t.AddText("damage", d.Damage)
	t.AddText("kept", term.Count(d.Kept, "record"))
	t.AddText("lost", cmp.Or(d.lost(), "no record")+fmt.Sprintf(", %d bytes", d.LostBytes))
	if len(d.UnknownOrders) > 0 {
		t.AddText("orders", strings.Join(d.UnknownOrders, ", ")+": unknown now; sign those again that are still needed")
	}
	if len(d.Foreign) > 0 {
		t.AddText("foreign", strings.Join(d.Foreign, ", ")+": of another journal, moved away")
	}
	t.AddText("saved", d.Saved)
	t.Write(out, term.Palette{})
}

// lost names the lost records.
func (d repairDocument) lost() string {
	var parts []string
	for _, g := range d.Lost {
		if g.First == g.Last {
			parts = append(parts, fmt.Sprintf("record %d", g.First))
		} else {
			parts = append(parts, fmt.Sprintf("records %d to %d", g.First, g.Last))
		}
	}
	if d.LostCompacted > 0 {
		parts = append(parts, term.Count(d.LostCompacted, "record")+" of the last compaction")
	}
	return strings.Join(parts, ", ")
}
