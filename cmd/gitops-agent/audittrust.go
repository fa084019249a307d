package main

import (
	"errors"
	"io/fs"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/verify"
)

// auditTrust says whom an audit believes: the signers of a config, or those of flags.
type auditTrust struct {
	config  string // path
	root    string // path of a trusted root, instead of the config
	signers []string
}

// auditGrounds are what an audit goes by. The config is the zero one where flags said everything.
type auditGrounds struct {
	policy *verify.Policy
	config agent.Config
}

func (t auditTrust) read() (auditGrounds, error) {
	switch {
	case (t.root == "") != (len(t.signers) == 0):
		return auditGrounds{}, term.UsageErrorf("--trusted-root and --signer go together")
	case t.root != "":
		policy, err := auditPolicy(t.root, t.signers)
		return auditGrounds{policy: policy}, err
	}
	config, err := readConfig(t.config)
	if errors.Is(err, fs.ErrNotExist) {
		return auditGrounds{}, term.WithHint(err, "no config is needed with --repo DIR --trusted-root FILE --signer ISSUER=SUBJECT")
	}
	if err != nil {
		return auditGrounds{}, err
	}
	policy, err := config.Policy()
	if err != nil {
		return auditGrounds{}, term.WithHint(err, "gitops-agent config check names every problem of the config")
	}
	return auditGrounds{policy, config}, nil
}
