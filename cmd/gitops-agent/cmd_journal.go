package main

import (
	"context"
	"io"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/journalview"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"

	"github.com/spf13/cobra"
)

func newJournalCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Read, check, export, copy or repair the agent's journal",
		Long: help("Works on the journal in the state directory, or in etcd. show, verify and export take no lock and change nothing, so the agent\nmay be running; copy and repair need it stopped.",
			ending{term.ExitDone, "done"}, ending{term.ExitError, "error"}),
		Args: groupArgs,
		RunE: func(*cobra.Command, []string) error {
			return term.UsageErrorf("choose show, verify, export, copy or repair")
		},
	}
	cmd.AddCommand(newJournalShowCommand(p), newJournalVerifyCommand(p), newJournalExportCommand(p), newJournalCopyCommand(p), newJournalRepairCommand(p))
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config = p.config
			return runJournalShow(cmd.Context(), p.out, opts, time.Now())
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config = p.config
			return runJournalVerify(cmd.Context(), p.out, opts)
		},
	}
	cmd.Flags().StringVar(&opts.dir, "dir", "", "read the journal in this `directory` instead of the config's")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type journalOptions struct {
	config, dir, output string
}

// read calls do with the journal: that in the directory of the flag, or where the config says.
func (o journalOptions) read(ctx context.Context, do func(journalview.Source) error) error {
	if o.dir != "" {
		return do(journalview.InDir(o.dir))
	}
	config, err := readConfig(o.config)
	if err != nil {
		return err
	}
	name := config.JournalDir()
	if config.UsesEtcd() {
		name = "etcd"
	}
	return config.ReadJournal(ctx, func(r journal.Reader) error { return do(journalview.Source{Name: name, Read: r}) })
}

func runJournalVerify(ctx context.Context, out io.Writer, opts journalOptions) error {
	return opts.read(ctx, func(source journalview.Source) error {
		return journalview.Verify(out, source, opts.output == outputJSON)
	})
}
