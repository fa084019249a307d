package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"gitops-agent/cmd/gitops-agent/internal/clone"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/verify"
)

// Trust names the accepted signers: those of a config or, if Root is set, those of flags. Where no config is, it is the person whose clone this is.
type Trust struct {
	Root    string   // path of a trusted root; "" uses the config
	Signers []string // each ISSUER=SUBJECT
	Clone   string   // a directory in a clone that init --repository prepared; "" uses none
}

// trustSettings are the policy of an audit and its config. The config is the zero value if flags name a root and signers.
type trustSettings struct {
	judge  judge
	policy *verify.Policy // nil without a policy
	config agent.Config
}

// read returns the policy and the config. It calls readConfig only if the flags name no root and no signers.
func (t Trust) read(ctx context.Context, readConfig func() (agent.Config, error), note func(string)) (trustSettings, error) {
	switch {
	case (t.Root == "") != (len(t.Signers) == 0):
		return trustSettings{}, term.UsageErrorf("--trusted-root and --signer need each other")
	case t.Root != "":
		policy, err := policyOf(t.Root, t.Signers, clone.Trust{})
		return trustSettings{judge: policy, policy: policy}, err
	}
	config, err := readConfig()
	if t.Clone != "" && errors.Is(err, fs.ErrNotExist) {
		if own, found := clone.ReadTrust(ctx, t.Clone); found {
			note(fmt.Sprintf("no agent has its config here: %s is the one accepted signer, as the settings of this clone say", own.Signer))
			policy, err := policyOf(own.Root, []string{own.Signer}, own)
			return trustSettings{judge: policy, policy: policy}, err
		}
	}
	return policyOfConfig(config, err, noConfig)
}

// acceptedLast returns the revision that the agent of a config accepted last, by its journal in files; zero if that cannot be read here.
func acceptedLast(config agent.Config) verify.Base {
	state, err := config.JournalState(context.Background())
	if err != nil || state.Accepted == nil {
		return verify.Base{}
	}
	return verify.Base{Commit: gitsource.ID(state.Accepted.Commit), ProvenTime: state.Accepted.ProvenTime}
}

// readRoot returns what identifies signers without a policy: the trusted root of the flag or of the config.
func (t Trust) readRoot(readConfig func() (agent.Config, error)) (trustSettings, error) {
	if len(t.Signers) > 0 {
		return trustSettings{}, term.UsageErrorf("--who lists every signer and takes no --signer")
	}
	if t.Root != "" {
		root, err := readTrustedRoot(t.Root)
		if err != nil {
			return trustSettings{}, err
		}
		identifier, err := verify.NewIdentifier(root)
		return trustSettings{judge: identifier}, err
	}
	config, err := readConfig()
	settings, err := policyOfConfig(config, err, "no config is needed with --repo DIR --trusted-root FILE")
	if err != nil {
		return trustSettings{}, err
	}
	identifier, err := settings.policy.Identifier()
	return trustSettings{judge: identifier, config: settings.config}, err
}

// noConfig is the hint where no config is.
const noConfig = "no config is needed with --repo DIR --trusted-root FILE --signer ISSUER=SUBJECT; in a clone of yours, gitops-agent init --repository . prepares verify and signing"

// policyOfConfig returns the policy of a config, or the error of reading it. The hint is for a config that does not exist.
func policyOfConfig(config agent.Config, err error, hint string) (trustSettings, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return trustSettings{}, term.WithHint(err, hint)
	}
	if err != nil {
		return trustSettings{}, err
	}
	policy, err := config.Policy()
	if err != nil {
		return trustSettings{}, term.WithHint(err, "gitops-agent config check prints every problem of the config")
	}
	return trustSettings{policy, policy, config}, nil
}
