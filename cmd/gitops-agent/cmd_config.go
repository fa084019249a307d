package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/clusterview"
	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"

	"github.com/spf13/cobra"
)

func newConfigCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the agent's config, or print an example",
		Long:  help("Works on the agent's config file.", ending{term.ExitDone, "done"}, ending{term.ExitError, "the config has a problem"}),
		Args:  groupArgs,
		RunE:  func(*cobra.Command, []string) error { return term.UsageErrorf("choose check or example") },
	}
	cmd.AddCommand(newConfigCheckCommand(p), newConfigExampleCommand(p))
	return cmd
}

func newConfigExampleCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "example",
		Short:   "Print a config to copy",
		Long:    help("Prints a config that names every field, with its meaning and its default.", ending{term.ExitDone, "done"}, ending{term.ExitError, "error"}),
		Example: "  gitops-agent config example > /etc/gitops-agent/config.yaml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(p.out, agent.Example)
			return err
		},
	}
}

type configCheckOptions struct {
	config  string
	cluster bool
	dir     string
	output  string
	alerts  string
	log     *slog.Logger
}

func newConfigCheckCommand(p *program) *cobra.Command {
	var opts configCheckOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the agent's config and the files that it names, and with --cluster the remotes and the cluster",
		Long: help(`Checks the agent's config: its fields, the policy with its trusted root, and that the files it names exist and can be read.
So does it whether other users than root and the agent's may change the config, a file that it names, or a folder above. It contacts neither the remotes nor the
cluster. If an approver has guests or paths in trust.signers, it warns, and says who can approve what.
With --alerts it names each selector of the metrics of conditions and held steps that matches a reason which this release does not have any more, with its
new name. Neither a route of notifications nor a Policy can match a reason.

With --cluster it also reads the remotes and the cluster, and writes nothing there. It fetches the branch from each remote into a temporary directory:
whether the remote answers, with its host key, certificate and credentials, and has the branch; whether trust.anchor is on it; and whether the agent would
accept its tip, by the code and the journal of the agent. It checks whether each endpoint answers, with a valid certificate and a
supported release; quorum; whether the nodes, storages, pools, templates to clone and secrets that manifests name exist; on the nodes where a
guest may run, its bridges, its cpu.type, ISO images and its source; and the privileges that the token lacks for the manifests, with the key and
the line that need them and the commands that would grant them. Anything that the token may not see is reported as skipped, not as missing. The
manifests are those of --dir, or the revision that the agent accepted last; without either, it checks what the agent itself needs.`,
			ending{term.ExitDone, "all checks passed"}, ending{term.ExitError, "a check failed or was skipped; all results are printed"}),
		Example: `  gitops-agent config check --config ./config.yaml
  gitops-agent config check --cluster --dir .
  gitops-agent config check --cluster -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config, opts.log = p.config, p.logger()
			return runConfigCheck(cmd.Context(), p.out, p.err, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.cluster, "cluster", false, "also read the remotes and the cluster, and compare the token's privileges with the manifests")
	cmd.Flags().StringVar(&opts.dir, "dir", "", "check the manifests below this `directory`")
	cmd.Flags().StringVar(&opts.alerts, "alerts", "", "also check the rules of Prometheus and the dashboards at or below this `path`")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

// configDocument is the JSON result of the check.
type configDocument struct {
	SchemaVersion int                   `json:"schemaVersion"`
	Config        string                `json:"config"` // path
	Cluster       string                `json:"cluster"`
	Good          bool                  `json:"good"`
	Warnings      []string              `json:"warnings,omitempty"` // about approvers with a scope
	ClusterCheck  *clusterview.Document `json:"clusterCheck,omitempty"`
	FormerReasons []string              `json:"formerReasons,omitempty"` // in the files of --alerts
}

func runConfigCheck(ctx context.Context, out, notes io.Writer, opts configCheckOptions) error {
	if opts.dir != "" && !opts.cluster {
		return term.UsageErrorf("--dir chooses the manifests that --cluster checks: add --cluster")
	}
	config, err := readConfig(opts.config)
	if err != nil {
		return err
	}
	facts, err := checkConfig(config)
	if err != nil {
		return fmt.Errorf("config %s: %w", opts.config, err)
	}
	document := configDocument{SchemaVersion: term.SchemaVersion, Config: opts.config, Cluster: config.Cluster.Name, Warnings: config.ApproverWarnings(time.Now())}
	for _, w := range document.Warnings {
		_, _ = fmt.Fprintf(notes, "gitops-agent: warning: %s\n", term.Printable(w))
	}
	if opts.cluster {
		manifests, err := subject.Reader{Config: config, Notes: notes}.ReadIfAccepted(ctx, opts.dir)
		if err != nil {
			return err
		}
		document.ClusterCheck = clusterview.Check(ctx, clusterview.Options{
			Config: config, Logger: opts.log, Hint: hintFor, Basis: string(manifests.Basis), Revision: manifests.Revision, Description: manifests.Description(),
			Manifests: manifests.Set, State: manifests.State, Progress: term.NewProgress(notes),
		})
	}
	if opts.alerts != "" {
		if document.FormerReasons, err = formerReasons(opts.alerts); err != nil {
			return fmt.Errorf("read the files of --alerts: %w", err)
		}
	}
	document.Good = len(document.FormerReasons) == 0 && (document.ClusterCheck == nil || document.ClusterCheck.Good())
	if opts.output == outputJSON {
		err = term.WriteJSON(out, document)
	} else {
		writeConfigText(out, document, facts)
	}
	if err == nil && !document.Good {
		return term.WithStatus(term.ExitError, nil)
	}
	return err
}

// checkConfig checks everything that needs no network. It returns facts about the config, each a name and a text.
func checkConfig(config agent.Config) ([][2]string, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	policy, err := config.Policy()
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(config.Trust.Signers))
	for _, s := range config.Trust.Signers {
		names = append(names, s.Name+" ("+strings.Join(s.May, ", ")+")")
	}
	facts := [][2]string{{"cluster", config.Cluster.Name + " at " + strings.Join(config.Proxmox.Endpoints, ", ")}}
	for _, r := range config.Source.Remotes {
		facts = append(facts, [2]string{"source", config.Source.Branch + " of " + r.URL})
	}
	for _, bound := range config.Minimum().Texts() {
		facts = append(facts, [2]string{"minimum", bound + ", also if a manifest asks for less"})
	}
	facts = append(facts, [2]string{"signers", strings.Join(names, ", ")})
	if approvers := config.Approvers(time.Now()); slices.ContainsFunc(approvers, agent.Approver.IsScoped) {
		for _, a := range approvers {
			facts = append(facts, [2]string{"approver", a.Name + ": " + a.Covers()})
		}
	}
	return append(facts, [2]string{"trusted root", fmt.Sprintf("sha256:%x", policy.Root().SHA256)}, [2]string{"state", config.StateDir}), nil
}

// writeConfigText prints the check of the config and, with --cluster, of the cluster.
func writeConfigText(out io.Writer, d configDocument, facts [][2]string) {
	_, _ = fmt.Fprintf(out, "%s: good\n", d.Config)
	t := term.Table{Indent: "  "}
	for _, f := range facts {
		t.AddText(f[0], f[1])
	}
	t.Write(out, term.NewPalette(out))
	for _, line := range d.FormerReasons {
		_, _ = fmt.Fprintln(out, term.Printable(line))
	}
	if d.ClusterCheck != nil {
		d.ClusterCheck.WriteText(out, d.Cluster)
	}
}
