package agent

import (
	"errors"
	"fmt"
	"net/url"

	"gitops-agent/gitsource"
	"gitops-agent/internal/evidence"
	"gitops-agent/internal/outbound"
	"gitops-agent/verify"
)

// checkLog returns every problem of the settings of the log that the agent may ask.
func (t TrustConfig) checkLog() error {
	if t.RekorURL == "" {
		if t.RekorCAFile != "" {
			return errors.New("trust.rekor_ca_file needs trust.rekor_url")
		}
		return nil
	}
	var problems []error
	if t.Timestamps == string(verify.TimestampRequired) {
		problems = append(problems, errors.New("trust.rekor_url has no effect with timestamps: required, because what the log knows of a commit of gitsign's online mode has no timestamp: remove one of the two"))
	}
	if u, err := url.Parse(t.RekorURL); err == nil && outbound.IsExposed(u) {
		problems = append(problems, errors.New("trust.rekor_url: http shows everyone on the way which commits are looked up: use https"))
	}
	if err := (&evidence.Client{URL: t.RekorURL}).Check(); err != nil {
		problems = append(problems, fmt.Errorf("trust.rekor_url: %w", err))
	}
	return errors.Join(problems...)
}

// log returns the log that the agent may ask, nil for none. It reads the file with certificates.
func (t TrustConfig) log() (*evidence.Client, error) {
	if t.RekorURL == "" {
		return nil, nil //nolint:nilnil // no log
	}
	client := &evidence.Client{URL: t.RekorURL, CAFile: t.RekorCAFile}
	if err := client.Check(); err != nil {
		return nil, fmt.Errorf("trust.rekor_url: %w", err)
	}
	return client, nil
}

// finder returns what finds evidence about the commits of a source.
func (t TrustConfig) finder(source *gitsource.Source) (*evidence.Finder, error) {
	log, err := t.log()
	if err != nil {
		return nil, err
	}
	return evidence.NewFinder(source, log), nil
}
