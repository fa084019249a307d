package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/planview"
	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/recovery"

	"github.com/spf13/cobra"
)

func newRecoverCommand(p *program) *cobra.Command {
	opts := recoverOptions{wait: 30 * time.Second}
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "List or claim the guests whose ownership records were lost",
		Long: help(`Lists the guests that have an agent's marker and no ownership record, as after a loss of the state directory, and states for each whether it
would be claimed, and why. A guest is claimed only if its vmid, kind and name are those of a manifest of the accepted revision, if no other
guest and no record has its marker, and if its SMBIOS uuid contradicts nothing.

This command changes no guest. To claim the listed guests, a signer with the role approve approves the digest below the list, or --yes
releases them on this host: it leaves the file recover in the state directory. The agent claims exactly these guests, now or at its next start. Until
then it changes none of them. Destroying a claimed guest, and creating it again, needs an approval.`,
			ending{term.ExitDone, "the guests were listed or claimed; there may be none"},
			ending{term.ExitError, "error; nothing was changed"},
			ending{term.ExitTimeout, "the running agent has not claimed the guests in time"}),
		Example: `  gitops-agent recover
  gitops-agent recover --yes
  gitops-agent recover -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config, opts.log = p.config, p.logger()
			return runRecover(cmd.Context(), p.out, p.err, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.yes, "yes", false, "release the guests that would be claimed")
	cmd.Flags().DurationVar(&opts.wait, "timeout", opts.wait, "how long --yes waits for a running agent")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type recoverOptions struct {
	config string
	yes    bool
	wait   time.Duration
	output string
	log    *slog.Logger
}

// recoverDocument is the JSON of recover.
type recoverDocument struct {
	SchemaVersion int    `json:"schemaVersion"`
	Cluster       string `json:"cluster"`
	Revision      string `json:"revision"`
	recovery.Result
	Released bool `json:"released"` // by --yes
	Claimed  bool `json:"claimed"`  // by the running agent
}

func runRecover(ctx context.Context, out, notes io.Writer, opts recoverOptions) error {
	config, err := readConfig(opts.config)
	if err != nil {
		return err
	}
	if err := checkOwnerOrRoot(config.StateDir); opts.yes && err != nil {
		return err
	}
	manifests, err := subject.Reader{Config: config, Notes: notes}.Read(ctx, "", "")
	if err != nil {
		return err
	}
	if err := manifests.State.Unread; err != nil {
		return term.WithHint(fmt.Errorf("the journal was not read in full, so it is unknown which records were lost: %w", err),
			"gitops-agent journal verify says what is wrong with it, and docs/internals/journal.md how to repair it")
	}
	if opts.yes && manifests.Basis != planview.BasisAccepted {
		return fmt.Errorf("the agent would refuse %s now, so no guest is claimed for it", manifests.Description())
	}
	found, err := findLost(ctx, config, manifests, notes, opts.log)
	if err != nil {
		return err
	}
	document := recoverDocument{SchemaVersion: term.SchemaVersion, Cluster: manifests.Set.Cluster.Name, Revision: manifests.Revision, Result: found.Result}
	late := error(nil)
	if opts.yes && found.Digest != "" {
		if document.Claimed, late = release(ctx, config, found.Result, opts.wait); late != nil && term.ExitStatus(late) != term.ExitTimeout {
			return late
		}
		document.Released = true
	}
	if opts.output == outputJSON {
		err = term.WriteJSON(out, document)
	} else {
		writeRecover(out, document)
	}
	return errors.Join(late, err)
}

// findLost compares the marked guests of the cluster with the manifests and the records.
func findLost(ctx context.Context, config agent.Config, manifests planview.Subject, notes io.Writer, log *slog.Logger) (recovery.Found, error) {
	guests, err := plan.WantedGuests(manifests.Set, manifests.State)
	if err != nil {
		return recovery.Found{}, err
	}
	live, err := readCluster(ctx, config, notes, log)
	if err != nil {
		return recovery.Found{}, err
	}
	defer live.close()
	preview, err := live.preview(ctx, config, manifests)
	if err != nil {
		return recovery.Found{}, err
	}
	return recovery.Find(recovery.Input{
		Cluster: manifests.Set.Cluster.Name, Guests: guests, VMIDs: manifests.Set.Cluster.VMIDs, Owned: manifests.State.Owned, Got: preview.Observed,
	}), nil
}

// release leaves the file for the agent, and waits until a running agent has claimed the guests.
func release(ctx context.Context, config agent.Config, found recovery.Result, wait time.Duration) (claimed bool, err error) {
	note := recovery.Note{Dir: config.StateDir}
	if err := note.Write(recovery.Release{Digest: found.Digest, UID: callingUser(), Since: time.Now()}); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for journal.InUse(config.JournalDir()) {
		state, err := config.JournalState(ctx)
		if err == nil && areClaimed(found, state) {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, term.WithHint(term.WithStatus(term.ExitTimeout, errors.New("the agent has not claimed the guests yet")),
				"it claims them only while exactly these guests would be claimed: run gitops-agent recover again to see what has changed, and gitops-agent status for the agent itself")
		case <-time.After(200 * time.Millisecond):
		}
	}
	return false, nil
}

// areClaimed reports whether the records of all claims are in the journal.
func areClaimed(found recovery.Result, state journal.State) bool {
	for _, g := range found.Claims() {
		if o, owned := state.Owned[g.VMID]; !owned || o.Tag != g.Marker {
			return false
		}
	}
	return true
}

// writeRecover prints the guests as a table, and how to claim them.
func writeRecover(out io.Writer, d recoverDocument) {
	if len(d.Guests) == 0 {
		_, _ = fmt.Fprintln(out, "Every guest with a marker has its ownership record: nothing was lost.")
		return
	}
	table := term.Table{}
	table.AddText("VMID", "KIND", "NAME", "NODE", "MARKER", "UUID", "VERDICT", "REASON")
	for _, g := range d.Guests {
		table.AddText(fmt.Sprint(g.VMID), string(g.Kind), dash(g.Name), dash(g.Node), dash(g.Marker), dash(g.UUID), string(g.Verdict), g.Message)
		if g.Hint != "" {
			table.AddText("", "", "", "", "", "", "", g.Hint)
		}
	}
	table.Write(out, term.NewPalette(out))
	count := term.Count(len(d.Claims()), "guest")
	switch {
	case d.Digest == "":
		_, _ = fmt.Fprintln(out, "\nNo guest can be claimed.")
	case d.Claimed:
		_, _ = fmt.Fprintf(out, "\nThe agent has claimed %s. It needs an approval to destroy one, or to create one again.\n", count)
	case d.Released:
		_, _ = fmt.Fprintf(out, "\nReleased %s with digest %s. The agent claims exactly these guests when it runs.\n", count, d.Digest)
	default:
		_, _ = fmt.Fprintf(out, "\n%s would be claimed, with digest %s. To claim exactly these guests:\n  gitops-agent approve %s\n  gitops-agent recover --yes    (on the agent's host)\n",
			count, d.Digest, d.Digest)
	}
}

// dash returns the text, or "-" for an empty text.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
