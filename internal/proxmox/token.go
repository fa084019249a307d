package proxmox

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
)

// token is an API token. Its printed form contains the id, never the secret.
type token struct {
	id     string // user@realm!name
	secret string
}

var tokenID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^\s:/!@=]+@[A-Za-z][A-Za-z0-9._-]+![A-Za-z][A-Za-z0-9._-]+$`)
})

// String returns the token without its secret.
func (t token) String() string { return t.id + "=<secret>" }

// GoString keeps the secret out of %#v as well.
func (t token) GoString() string { return t.String() }

// readToken reads a token file, which has one line. Its errors never quote the file.
func readToken(path string) (token, error) {
	if path == "" {
		return token{}, errors.New("token file: none given")
	}
	text, err := os.ReadFile(path) //nolint:gosec // G304: the operator names the file in the agent's own configuration
	if err != nil {
		return token{}, fmt.Errorf("read token file: %w", err)
	}
	line := strings.TrimSpace(string(text))
	id, secret, found := strings.Cut(line, "=")
	if !found || !tokenID().MatchString(id) || secret == "" || strings.ContainsAny(secret, " \t\r\n") {
		return token{}, fmt.Errorf("read token file %s: want one line user@realm!name=secret", path)
	}
	return token{id: id, secret: secret}, nil
}
