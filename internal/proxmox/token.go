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
		return token{}, fmt.Errorf("read token file %s: want one line user@realm!name=secret%s", path, wrongToken(line))
	}
	return token{id: id, secret: secret}, nil
}

// wrongToken describes what is wrong with the text of a token file, "" for an unknown reason. It quotes nothing of it.
func wrongToken(line string) string {
	id, _, _ := strings.Cut(line, "=")
	switch {
	case line == "":
		return "; the file is empty"
	case strings.Contains(line, "\n"):
		return "; the file has several lines"
	case strings.HasPrefix(line, "PVEAPIToken"), strings.HasPrefix(line, "Authorization"):
		return ", without the words before it that a request has"
	case uuid().MatchString(line):
		return "; the file has the secret alone"
	case !strings.Contains(line, "="):
		return "; there is no ="
	case !strings.Contains(id, "@"):
		return "; the user has no realm, such as @pve"
	case !strings.Contains(id, "!"):
		return "; there is no !name of the token before the ="
	case strings.ContainsAny(line, " \t"):
		return "; there is a space in it"
	}
	return ""
}

var uuid = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`) })

// CheckToken returns an error if the secret in a token file has another form than those that Proxmox makes. Its errors never quote the file.
//
// Source: PVE::TokenConfig, generate_token: a UUID.
func CheckToken(path string) error {
	t, err := readToken(path)
	if err == nil && !uuid().MatchString(t.secret) {
		err = fmt.Errorf("token file %s: what follows %s= is no UUID, as the secret of a token is; Proxmox shows it once, when it makes the token", path, t.id)
	}
	return err
}
