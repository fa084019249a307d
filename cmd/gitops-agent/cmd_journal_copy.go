package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/journal"

	"github.com/spf13/cobra"
)

func newJournalCopyCommand(p *program) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "copy",
		Short: "Copy the journal from files to etcd, or back",
		Long: help(`Copies the whole journal with its chain to a place that has none, and checks the copy. A place is "files", the directory of the
config; "etcd", that of the config; or the path of another directory. The agents must be stopped: the command takes the lock of a directory,
and leads in etcd while it copies. The source stays as it is. docs/ha.md describes the whole move.`,
			ending{term.ExitDone, "the copy is whole"}, ending{term.ExitError, "error; what was copied is incomplete or not there"}),
		Example: `  gitops-agent journal copy --from files --to etcd
  gitops-agent journal copy --from etcd --to /root/journal-of-today`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || to == "" || from == to {
				return term.UsageErrorf("name two places with --from and --to")
			}
			return runJournalCopy(cmd.Context(), p.out, p.config, from, to)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the `place` to copy from: files, etcd or a directory")
	cmd.Flags().StringVar(&to, "to", "", "the `place` to copy to: files, etcd or a directory")
	for _, flag := range []string{"from", "to"} {
		err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"files", "etcd"}, cobra.ShellCompDirectiveDefault
		})
		if err != nil {
			panic(err) // a flag that does not exist is a mistake in this file
		}
	}
	return cmd
}

func runJournalCopy(ctx context.Context, out io.Writer, configPath, from, to string) (err error) {
	config, err := readConfig(configPath)
	if err != nil {
		return err
	}
	places := map[string]journal.Place{}
	for _, name := range []string{from, to} {
		place, closing, err := openPlace(ctx, config, name)
		if err != nil {
			return err
		}
		defer closing()
		places[name] = place
	}
	summary, err := journal.Copy(ctx, places[from], places[to])
	if errors.Is(err, journal.ErrLocked) {
		return term.WithHint(err, "stop the agent first")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "journal: %d of %d records copied, head %s\n", summary.Records, summary.Seq, summary.Head)
	return err
}

// openPlace opens a place of a copy. In etcd it leads, so that no agent writes meanwhile.
func openPlace(ctx context.Context, config agent.Config, name string) (place journal.Place, closing func(), err error) {
	switch name {
	case "files":
		name = config.JournalDir()
	case "etcd":
		if !config.UsesEtcd() {
			return place, nil, term.WithHint(errors.New("the config names no etcd"), "set journal.etcd.endpoints")
		}
		client, err := config.OpenEtcd()
		if err != nil {
			return place, nil, err
		}
		leader, err := client.TryElect(ctx, "gitops-agent journal copy")
		if leader == nil {
			if err == nil {
				now, _, _ := client.Leader(ctx) // only for the message
				err = term.WithHint(fmt.Errorf("an agent leads: %s", now.Name), "stop the agents of all hosts first")
			}
			return place, nil, errors.Join(err, client.Close())
		}
		return journal.Service(client.Store(leader)), func() {
			leader.Release(true)
			_ = client.Close()
		}, nil
	}
	if _, err := os.Stat(name); err == nil {
		if err := checkOwner(name); err != nil {
			return place, nil, err
		}
	}
	return journal.Directory(name), func() {}, nil
}
