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

// ShowOptions name the journal to print.
type ShowOptions struct {
	Source Source
	Filter Filter
	JSON   bool
}

// Show prints every record that the filter selects, oldest first: one line each, or as one JSON document. It keeps no records, so the memory that it
// needs does not grow with the journal. If the journal is damaged, it prints the readable records and returns an error.
func Show(out io.Writer, opts ShowOptions) error {
	selected := newSelection(opts.Filter)
	show, end := printer(out, opts.JSON)
	_, err := opts.Source.Read(func(r journal.Record) error {
		if !selected.selects(r) {
			return nil
		}
		return show(r)
	})
	if !errors.Is(err, fs.ErrNotExist) {
		err = cmp.Or(end(), err)
	}
	return withSourceHint(opts.Source, err)
}

// printer returns a function that prints a record, and one that ends the output.
func printer(out io.Writer, asJSON bool) (show func(journal.Record) error, end func() error) {
	if !asJSON {
		return func(r journal.Record) error { return writeRecord(out, r) }, func() error { return nil }
	}
	document := term.NewJSONList(out, "records")
	return func(r journal.Record) error { return document.Add(r) }, document.Close
}

// Source is a journal in a directory or in a service.
type Source struct {
	Name string // its directory, or "etcd"
	Read journal.Reader
}

// InDir returns the journal in a directory.
func InDir(dir string) Source { return Source{dir, journal.InDir(dir)} }

// withSourceHint adds the place and a remedy to the error for a journal that does not exist.
func withSourceHint(source Source, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return term.WithHint(fmt.Errorf("%s: %w", source.Name, err), "the agent creates the journal when it first runs; choose another directory with --dir or state_dir")
	}
	return err
}
