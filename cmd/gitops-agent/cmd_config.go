package main

import (
	"fmt"
	"io"
	"strings"

	"gitops-agent/internal/agent"

	"github.com/spf13/cobra"
)

func newConfigCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the agent's config, or print an example",
		Long:  help("Works on the agent's config file.", ending{exitDone, "done"}, ending{exitError, "the config has a problem"}),
		Args:  groupArgs,
		RunE:  func(*cobra.Command, []string) error { return usageError("choose check or example") },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "check",
			Short: "Check the agent's config and the files that it names",
			Long: help(`Checks the agent's config: its fields, the policy with its trusted root, and that the files it names are there and can be read.
It asks neither the remotes nor the cluster.`, ending{exitDone, "the config is good"}, ending{exitError, "it has a problem; all are printed"}),
			Example: "  gitops-agent config check --config ./config.yaml",
			Args:    cobra.NoArgs,
			RunE:    func(*cobra.Command, []string) error { return runConfigCheck(p.out, p.config) },
		},
		&cobra.Command{
			Use:     "example",
			Short:   "Print a config to copy",
			Long:    help("Prints a config that names every field, with its meaning and its default.", ending{exitDone, "done"}, ending{exitError, "error"}),
			Example: "  gitops-agent config example > /etc/gitops-agent/config.yaml",
			Args:    cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := io.WriteString(p.out, agent.Example)
				return err
			},
		},
	)
	return cmd
}

func runConfigCheck(out io.Writer, path string) error {
	config, err := readConfig(path)
	if err != nil {
		return err
	}
	if err := config.Check(); err != nil {
		return fmt.Errorf("config %s: %w", path, err)
	}
	policy, err := config.Policy()
	if err != nil {
		return err
	}
	names := make([]string, 0, len(config.Trust.Signers))
	for _, s := range config.Trust.Signers {
		names = append(names, s.Name+" ("+strings.Join(s.May, ", ")+")")
	}
	t := table{indent: "  "}
	t.addText("cluster", config.Cluster.Name+" at "+strings.Join(config.Proxmox.Endpoints, ", "))
	for _, r := range config.Source.Remotes {
		t.addText("source", config.Source.Branch+" of "+r.URL)
	}
	t.addText("signers", strings.Join(names, ", "))
	t.addText("trusted root", fmt.Sprintf("sha256:%x", policy.Root().SHA256))
	t.addText("state", config.StateDir)
	_, _ = fmt.Fprintf(out, "%s: good\n", path)
	t.write(out, newPalette(out))
	return nil
}
