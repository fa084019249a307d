package agent

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"gitops-agent/internal/attest"
)

// AttestConfig states with a key of this agent that the cluster matches a revision, after the first convergence of each revision.
type AttestConfig struct {
	// KeyFile is a file with a private key in PEM, without a password, such as "openssl genpkey -algorithm ed25519" writes. Use a key of its own: whoever has
	// it can state anything about the cluster. It is read at the start and at a reload. Required.
	KeyFile string `yaml:"key_file"`
	// Directory is where the statements are written: <cluster.name>/<commit>.json in it. It must exist. Default: attestations in state_dir, which the agent
	// creates.
	Directory string `yaml:"directory"`
}

// check returns an error if the settings are wrong, as far as no file is needed to find it.
func (a AttestConfig) check() error {
	if a != (AttestConfig{}) && a.KeyFile == "" {
		return errors.New("attest.key_file is required: a file with a private key in PEM")
	}
	return nil
}

// signer returns the signer of attest.key_file.
func (a AttestConfig) signer() (*attest.Signer, error) {
	key, err := readFilled("attest.key_file", a.KeyFile)
	if err != nil {
		return nil, err
	}
	signer, err := attest.NewSigner([]byte(key))
	if err != nil {
		return nil, fmt.Errorf("attest.key_file: %s: %w", a.KeyFile, err)
	}
	return signer, nil
}

// checkAttest returns an error if the key or the directory cannot be used.
func (c Config) checkAttest() error {
	if c.Attest == (AttestConfig{}) {
		return nil
	}
	if err := c.Attest.check(); err != nil {
		return err
	}
	_, err := c.Attest.signer()
	if c.Attest.Directory == "" {
		return err
	}
	if dirErr := c.attestDirectory().Check(); dirErr != nil {
		err = errors.Join(err, fmt.Errorf("attest.directory: %w", dirErr))
	}
	return err
}

// attestDirectory returns where statements are written.
func (c Config) attestDirectory() attest.Directory {
	return attest.Directory{Path: cmp.Or(c.Attest.Directory, filepath.Join(c.StateDir, "attestations"))}
}

// openAttester makes the part of a session that states convergence.
func (s *session) openAttester(a *Agent) error {
	if s.config.Attest == (AttestConfig{}) {
		return nil
	}
	signer, err := s.config.Attest.signer()
	if err != nil {
		return err
	}
	s.attester = attest.NewPublisher(attest.Options{
		Signer: signer, Directory: s.config.attestDirectory(), Version: a.opts.Build.Version,
		OnResult: func(r attest.Result) { a.metrics.Attestation(string(r)) }, Logger: a.opts.Logger,
	})
	return nil
}
