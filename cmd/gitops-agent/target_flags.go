package main

import (
	"gitops-agent/cmd/gitops-agent/internal/statusview"

	"github.com/spf13/cobra"
)

// targetFlags adds the flags of commands that read the status of a running agent.
func targetFlags(cmd *cobra.Command, target *statusview.Target) {
	credentialFlags(cmd, target, "needs --url", "needs --url")
	cmd.Flags().StringVar(&target.URL, "url", "", "`address` of an agent, instead of the one that runs here with this config")
	completeWords(cmd, "url", nil)
}

// credentialFlags adds the flags that say how to log in to an agent. Token and certificates say what applies without the flags for them.
func credentialFlags(cmd *cobra.Command, target *statusview.Target, token, certificates string) {
	for _, f := range []struct {
		name, usage string
		value       *string
	}{
		{"token-file", "`file` with the token; " + token, &target.TokenFile},
		{"password-file", "`file` with the password of --user", &target.PasswordFile},
		{"ca-file", "`file` with the certificates to trust; " + certificates, &target.CAFile},
		{"cert-file", "`file` with a client certificate", &target.CertFile},
		{"key-file", "`file` with the key of --cert-file", &target.KeyFile},
	} {
		cmd.Flags().StringVar(f.value, f.name, "", f.usage)
		_ = cmd.MarkFlagFilename(f.name) // the flag exists
	}
	cmd.Flags().StringVar(&target.User, "user", "", "`name` of a user of the web config file")
	completeWords(cmd, "user", nil)
}
