package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"

	"github.com/spf13/cobra"
)

func newJournalCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Read, check or repair the agent's journal",
		Long: help("Works on the journal in the state directory. show and verify take no lock and change nothing, so the agent may be running; repair\nneeds it stopped.",
			ending{term.ExitDone, "done"}, ending{term.ExitError, "error"}),
		Args: groupArgs,
		RunE: func(*cobra.Command, []string) error { return term.UsageErrorf("choose show, verify or repair") },
	}
	cmd.AddCommand(newJournalShowCommand(p), newJournalVerifyCommand(p), newJournalRepairCommand(p))
	return cmd
}

func newJournalShowCommand(p *program) *cobra.Command {
	var opts journalOptions
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the records of the journal",
		Long: help(`Prints the records of the journal, oldest first: accepted revisions, begun, dispatched and ended steps, ownership of guests, and the
results of signed orders.`, ending{term.ExitDone, "done"}, ending{term.ExitError, "there is no journal, or it is damaged; readable records are printed"}),
		Example: `  gitops-agent journal show | tail
  gitops-agent journal show -o json | jq '.records[] | select(.begun.vmid == 201)'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			opts.config = p.config
			return runJournalShow(p.out, opts)
		},
	}
	cmd.Flags().StringVar(&opts.dir, "dir", "", "read the journal in this `directory` instead of the config's")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

func newJournalVerifyCommand(p *program) *cobra.Command {
	var opts journalOptions
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every checksum, link and count of the journal",
		Long: help(`Checks every checksum, link and count of the journal and prints its head, a value that identifies its whole history.`,
			ending{term.ExitDone, "the journal is whole"}, ending{term.ExitError, "there is no journal, or it is damaged"}),
		Example: "  gitops-agent journal verify",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			opts.config = p.config
			return runJournalVerify(p.out, opts)
		},
	}
	cmd.Flags().StringVar(&opts.dir, "dir", "", "read the journal in this `directory` instead of the config's")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type journalOptions struct {
	config, dir, output string
}

// journalDir returns the directory of the journal: that of the flag, or that of the config.
func (o journalOptions) journalDir() (string, error) {
	if o.dir != "" {
		return o.dir, nil
	}
	config, err := readConfig(o.config)
	return config.JournalDir(), err
}

type journalDocument struct {
	SchemaVersion int              `json:"schemaVersion"`
	Records       []journal.Record `json:"records"`
}

func runJournalShow(out io.Writer, opts journalOptions) error {
	dir, err := opts.journalDir()
	if err != nil {
		return err
	}
	document := journalDocument{term.SchemaVersion, []journal.Record{}}
	_, err = journal.Read(dir, func(r journal.Record) error {
		if opts.output == outputJSON {
			document.Records = append(document.Records, r)
			return nil
		}
		return writeRecord(out, r)
	})
	if opts.output == outputJSON && !errors.Is(err, fs.ErrNotExist) {
		err = cmp.Or(term.WriteJSON(out, document), err)
	}
	return journalError(dir, err)
}

type journalSummary struct {
	SchemaVersion int       `json:"schemaVersion"`
	Whole         bool      `json:"whole"`
	Lineage       string    `json:"lineage"`
	Since         time.Time `json:"since"`
	Files         int       `json:"files"`
	Records       int       `json:"records"`
	Sequence      uint64    `json:"sequence"`
	Head          string    `json:"head"`
	Bytes         int64     `json:"bytes"`
	TornBytes     int64     `json:"tornBytes"`
}

func runJournalVerify(out io.Writer, opts journalOptions) error {
	dir, err := opts.journalDir()
	if err != nil {
		return err
	}
	s, err := journal.Read(dir, func(journal.Record) error { return nil })
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case opts.output == outputJSON:
		document := journalSummary{term.SchemaVersion, err == nil, s.Lineage, s.Since, s.Files, s.Records, s.Seq, s.Head, s.Bytes, s.TornBytes}
		err = cmp.Or(term.WriteJSON(out, document), err)
	default:
		writeJournalSummary(out, s, err == nil)
	}
	return journalError(dir, err)
}

func writeJournalSummary(out io.Writer, s journal.Summary, whole bool) {
	state := "damaged; readable part:"
	if whole {
		state = "whole"
	}
	_, _ = fmt.Fprintf(out, "journal: %s\n", state)
	t := term.Table{Indent: "  "}
	t.AddText("records", fmt.Sprintf("%d of %d", s.Records, s.Seq))
	t.AddText("files", fmt.Sprintf("%d, %d bytes", s.Files, s.Bytes))
	t.AddText("lineage", s.Lineage+", since "+s.Since.UTC().Format(time.RFC3339))
	t.AddText("head", s.Head)
	if s.TornBytes > 0 {
		t.AddText("unfinished", fmt.Sprintf("%d bytes of a commit that is being written, or that a crash cut", s.TornBytes))
	}
	t.Write(out, term.Palette{})
}

func journalError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return term.WithHint(fmt.Errorf("%s: %w", dir, err), "the agent creates the journal when it first runs; choose another directory with --dir or state_dir")
	}
	return err
}
