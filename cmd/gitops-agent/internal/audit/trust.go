package audit

import (
	"errors"
	"io/fs"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/verify"
)

// Trust names the accepted signers: those of a config or, if Root is set, those of flags.
type Trust struct {
	Root    string   // path of a trusted root; "" uses the config
	Signers []string // each ISSUER=SUBJECT
}

// trustSettings are the policy of an audit and its config. The config is the zero value if flags name a root and signers.
type trustSettings struct {
	policy *verify.Policy
	config agent.Config
}

// read returns the policy and the config. It calls readConfig only if the flags name no root and no signers.
func (t Trust) read(readConfig func() (agent.Config, error)) (trustSettings, error) {
	switch {
	case (t.Root == "") != (len(t.Signers) == 0):
		return trustSettings{}, term.UsageErrorf("--trusted-root and --signer need each other")
	case t.Root != "":
		policy, err := policyOf(t.Root, t.Signers)
		return trustSettings{policy: policy}, err
	}
	config, err := readConfig()
	if errors.Is(err, fs.ErrNotExist) {
		return trustSettings{}, term.WithHint(err, "no config is needed with --repo DIR --trusted-root FILE --signer ISSUER=SUBJECT")
	}
	if err != nil {
		return trustSettings{}, err
	}
	policy, err := config.Policy()
	if err != nil {
		return trustSettings{}, term.WithHint(err, "gitops-agent config check prints every problem of the config")
	}
	return trustSettings{policy, config}, nil
}
