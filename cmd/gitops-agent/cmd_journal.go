package main

import (
	"io"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/journalview"
	"gitops-agent/cmd/gitops-agent/internal/term"

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
	var opts journalShowOptions
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the records of the journal",
		Long: help(`Prints the records of the journal, oldest first: accepted revisions, begun, dispatched and ended steps, ownership of guests, and the
results of signed orders. Flags select records; with several flags, a record must match each of them. The records of a step match by what its
first record says.`, ending{term.ExitDone, "done"}, ending{term.ExitError, "there is no journal, or it is damaged; readable records are printed"}),
		Example: `  gitops-agent journal show | tail
  gitops-agent journal show --guest VirtualMachine/web-1 --since 24h
  gitops-agent journal show --signer alice@example.org --step destroy
  gitops-agent journal show --revision 3f2a9c1 -o json | jq '.records[].begun.op'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			opts.config = p.config
			return runJournalShow(p.out, opts, time.Now())
		},
	}
	cmd.Flags().StringVar(&opts.dir, "dir", "", "read the journal in this `directory` instead of the config's")
	opts.flags(cmd, p)
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

func runJournalVerify(out io.Writer, opts journalOptions) error {
	dir, err := opts.journalDir()
	if err != nil {
		return err
	}
	return journalview.Verify(out, dir, opts.output == outputJSON)
}
