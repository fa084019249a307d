package main

import (
	"gitops-agent/cmd/gitops-agent/internal/statusview"

	"github.com/spf13/cobra"
)

// targetFlags adds the flags of commands that read the status of a running agent.
func targetFlags(cmd *cobra.Command, target *statusview.Target) {
	for _, f := range []struct {
		name, usage string
		value       *string
	}{
		{"token-file", "`file` with the token; default without --url: status.token_file of the config", &target.TokenFile},
		{"password-file", "`file` with the password of --user", &target.PasswordFile},
		{"ca-file", "`file` with the certificates to trust; default without --url: the certificate of the agent", &target.CAFile},
		{"cert-file", "`file` with a client certificate", &target.CertFile},
		{"key-file", "`file` with the key of --cert-file", &target.KeyFile},
	} {
		cmd.Flags().StringVar(f.value, f.name, "", f.usage)
		_ = cmd.MarkFlagFilename(f.name) // the flag exists
	}
	cmd.Flags().StringVar(&target.URL, "url", "", "`address` of the agent, instead of the one in the config")
	cmd.Flags().StringVar(&target.User, "user", "", "`name` of a user of the web config file")
	completeWords(cmd, "url", nil)
	completeWords(cmd, "user", nil)
}
