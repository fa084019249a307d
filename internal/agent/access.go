package agent

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"gitops-agent/internal/status/access"
)

// maxToken is the upper bound of a file with a token, in bytes.
const maxToken = 4 << 10

// accessOptions returns who may read the status page. onRefuse may be nil.
func (c Config) accessOptions(log *slog.Logger, onRefuse func(reason string)) access.Options {
	opts := access.Options{
		Listen: *c.Listen, WebConfigFile: c.Status.WebConfigFile, Token: c.StatusToken, Hosts: c.Status.Hosts,
		Unauthenticated: c.Status.Unauthenticated, Logger: log,
	}
	if onRefuse != nil {
		opts.OnRefuse = func(r access.Reason) { onRefuse(string(r)) }
	}
	return opts
}

// checkAccess checks the files of status, and that not everyone on the network can read the status by mistake.
func (c Config) checkAccess() error {
	if *c.Listen == "" {
		return nil
	}
	_, err := access.New(c.accessOptions(nil, nil))
	return err
}

// StatusToken returns the token for the status page, or "" if there is none. It reads the file at each call, so that the token can be rotated.
func (c Config) StatusToken() (string, error) {
	token, err := ReadToken("status.token_file", c.Status.TokenFile)
	if err == nil && token == "" && c.Status.TokenFile != "" {
		return "", fmt.Errorf("status.token_file: %s is empty: write a random token into it, such as the output of openssl rand -hex 32", c.Status.TokenFile)
	}
	return token, err
}

// ReadToken returns the content of a file without surrounding white space, or "" without a file. Its errors begin with field, which names the file in the
// config or on the command line.
func ReadToken(field, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	if err := checkPrivate(field, path); err != nil {
		return "", err
	}
	file, err := os.Open(path) //nolint:gosec // the operator chooses the path
	if err != nil {
		return "", fmt.Errorf("%s: %w", field, err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	if err == nil && len(text) > maxToken {
		err = errors.New("the file is larger than 4 KiB, want one line with a token")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", field, err)
	}
	return strings.TrimSpace(string(text)), nil
}
