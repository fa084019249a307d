package main

import (
	"errors"
	"io"
	"os"

	"gitops-agent/cmd/gitops-agent/internal/journalview"
	"gitops-agent/cmd/gitops-agent/internal/term"

	"github.com/spf13/cobra"
)

func newJournalRepairCommand(p *program) *cobra.Command {
	var opts repairOptions
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Make a damaged journal usable again",
		Long: help(`Makes a damaged journal usable again. It keeps every record with a valid checksum, begins a new chain with them, and moves the
damaged files to a folder beside the journal. Signed orders that had not ended become unknown and never run again, because the lost records may
show that they ran. A journal without damage is not changed. The agent must be stopped.

Lost records make the agent careful, not dangerous: it reads the cluster to find out how the steps ended that it had begun, and a guest without
a record needs an approval before it is destroyed. The command asks for confirmation; --yes confirms without a terminal.`,
			ending{term.ExitDone, "the journal is whole now, or was not damaged"}, ending{term.ExitError, "error, or not confirmed; nothing was changed"}),
		Example: `  gitops-agent journal repair
  gitops-agent journal repair --yes -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			opts.config, opts.prompt = p.config, term.Prompt{In: os.Stdin, Out: p.err, Interactive: term.IsTerminal(os.Stdin)}
			return runJournalRepair(p.out, opts)
		},
	}
	cmd.Flags().StringVar(&opts.dir, "dir", "", "repair the journal in this `directory` instead of the config's")
	cmd.Flags().BoolVar(&opts.yes, "yes", false, "repair without asking")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type repairOptions struct {
	journalOptions
	yes    bool
	prompt term.Prompt
}

func runJournalRepair(out io.Writer, opts repairOptions) error {
	dir := opts.dir
	if dir == "" {
		config, err := readConfig(opts.config)
		if err != nil {
			return err
		}
		if config.UsesEtcd() {
			return term.WithHint(errors.New("the journal is in etcd, and repair works on files"),
				"stop the agents, copy it to a directory with gitops-agent journal copy, repair it there with --dir, and follow docs/ha.md")
		}
		dir = config.JournalDir()
	}
	if err := checkOwner(dir); err != nil {
		return err
	}
	return journalview.Repair(out, journalview.RepairOptions{Dir: dir, Yes: opts.yes, Prompt: opts.prompt, JSON: opts.output == outputJSON})
}
