package journalview

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"
)

// showDocument is the JSON result of Show.
type showDocument struct {
	SchemaVersion int              `json:"schemaVersion"`
	Records       []journal.Record `json:"records"`
}

// Show prints every record, oldest first: one line each, or as one JSON document. If the journal is damaged, it prints the readable records and
// returns an error.
func Show(out io.Writer, dir string, asJSON bool) error {
	document := showDocument{term.SchemaVersion, []journal.Record{}}
	_, err := journal.Read(dir, func(r journal.Record) error {
		if asJSON {
			document.Records = append(document.Records, r)
			return nil
		}
		return writeRecord(out, r)
	})
	if asJSON && !errors.Is(err, fs.ErrNotExist) {
		err = cmp.Or(term.WriteJSON(out, document), err)
	}
	return withDirHint(dir, err)
}

// withDirHint adds the directory and a remedy to the error for a journal that does not exist.
func withDirHint(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return term.WithHint(fmt.Errorf("%s: %w", dir, err), "the agent creates the journal when it first runs; choose another directory with --dir or state_dir")
	}
	return err
}
