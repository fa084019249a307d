package main

import (
	"context"
	"io"

	"gitops-agent/cmd/gitops-agent/internal/journalview"
	"gitops-agent/cmd/gitops-agent/internal/term"

	"github.com/spf13/cobra"
)

type journalExportOptions struct {
	journalOptions
	after uint64
}

func newJournalExportCommand(p *program) *cobra.Command {
	var opts journalExportOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the records of the journal as JSON lines",
		Long: help(`Prints every record of the journal as one line of JSON, oldest first, for an archive or another program. The fields are those of
journal show -o json. The memory that it needs does not grow with the journal. --after continues an earlier export;
docs/internals/journal.md says how long the journal keeps records.`,
			ending{term.ExitDone, "done"}, ending{term.ExitError, "there is no journal, or it is damaged; readable records are printed"}),
		Example: `  gitops-agent journal export > journal.jsonl
  gitops-agent journal export --after 1500 | jq -r 'select(.ended) | .ended.result'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config = p.config
			return runJournalExport(cmd.Context(), p.out, opts)
		},
	}
	cmd.Flags().StringVar(&opts.dir, "dir", "", "read the journal in this `directory` instead of the config's")
	cmd.Flags().Uint64Var(&opts.after, "after", 0, "begin after the record with this `number`")
	return cmd
}

func runJournalExport(ctx context.Context, out io.Writer, opts journalExportOptions) error {
	return opts.read(ctx, func(source journalview.Source) error { return journalview.Export(out, source, opts.after) })
}
