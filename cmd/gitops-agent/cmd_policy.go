package main

import (
	"context"
	"errors"
	"io"

	"gitops-agent/cmd/gitops-agent/internal/policytest"
	"gitops-agent/cmd/gitops-agent/internal/term"

	"github.com/spf13/cobra"
)

func newPolicyCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Test policies",
		Long:  help(`Works with policies: rules in CEL that hold steps, docs/policies.md.`, ending{term.ExitDone, "done"}, ending{term.ExitError, "error"}),
		Args:  groupArgs,
		RunE:  func(*cobra.Command, []string) error { return term.UsageErrorf("choose test") },
	}
	cmd.AddCommand(newPolicyTestCommand(p))
	return cmd
}

func newPolicyTestCommand(p *program) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run tables of cases against policies",
		Long: help(`Runs tables of cases. A table names files with policies, or a folder with manifests whose policies are tested, and cases: a guest before and after a step as manifests, the step, the signers,
the time, and what the policies say of it. It uses neither the config nor the cluster nor the network.`,
			ending{term.ExitDone, "every case passed"}, ending{term.ExitError, "a table or a policy cannot be read"}, ending{term.ExitRefused, "a case did not pass"}),
		Example: `  gitops-agent policy test examples/policies/tests/*.yaml
  gitops-agent policy test policies-test.yaml -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return runPolicyTest(cmd.Context(), p.out, files, output)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	outputFlag(cmd, &output, outputText, outputJSON)
	return cmd
}

// policyTests is the result of policy test as JSON.
type policyTests struct {
	SchemaVersion int                 `json:"schemaVersion"`
	Failed        int                 `json:"failed"` // cases
	Tables        []policytest.Result `json:"tables"`
}

func runPolicyTest(ctx context.Context, out io.Writer, files []string, output string) error {
	results := policyTests{SchemaVersion: term.SchemaVersion, Tables: []policytest.Result{}}
	var problems []error
	for _, file := range files {
		table, err := policytest.Read(ctx, file)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		result, err := table.Run()
		problems = append(problems, err)
		results.Tables, results.Failed = append(results.Tables, result), results.Failed+result.Failed()
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if output == outputJSON {
		if err := term.WriteJSON(out, results); err != nil {
			return err
		}
	} else {
		for _, r := range results.Tables {
			r.WriteText(out)
		}
	}
	if results.Failed > 0 {
		return term.WithStatus(term.ExitRefused, nil)
	}
	return nil
}
