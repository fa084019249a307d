package gitsource

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

const connectTimeout = 15 * time.Second // to reach a host: an unreachable one must not use up the fetch's time

// dialSSH runs git-upload-pack on a host whose key is in the known hosts file.
func dialSSH(ctx context.Context, r remote, left *int64) (session, error) {
	address := net.JoinHostPort(r.url.Hostname(), cmp.Or(r.url.Port(), "22"))
	config, err := r.sshConfig(address)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stopWatch := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ssh itself knows no context
	hangUp := func() {
		stopWatch()
		_ = conn.Close()
	}
	_ = conn.SetDeadline(time.Now().Add(connectTimeout))
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		hangUp()
		return nil, explainHostKey(err, address, r.conf.KnownHostsFile)
	}
	_ = conn.SetDeadline(time.Time{})
	client := ssh.NewClient(c, channels, requests)
	s, err := startUploadPack(client, r.sshCommand(), left)
	if err != nil {
		hangUp()
		return nil, err
	}
	stop := s.stop
	s.stop = func() {
		stop()
		hangUp()
		_ = client.Wait() // its goroutines have ended
	}
	return s, nil
}

// sshConfig reads the key and the host's known keys. The algorithms asked for are those of the keys known for this
// host: with others, a host that has several keys would offer one that is not in the file.
func (r remote) sshConfig(address string) (*ssh.ClientConfig, error) {
	pem, err := readSmallFile(r.conf.SSHKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read ssh key: %w", err)
	}
	key, err := ssh.ParsePrivateKey(pem)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return nil, fmt.Errorf("read ssh key %s: it has a passphrase: use a key without", r.conf.SSHKeyFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read ssh key %s: %w", r.conf.SSHKeyFile, err)
	}
	known, err := knownhosts.NewDB(r.conf.KnownHostsFile)
	if err != nil {
		return nil, fmt.Errorf("read known hosts: %w", err)
	}
	return &ssh.ClientConfig{
		User:              cmp.Or(r.url.User.Username(), r.conf.Username, "git"),
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback:   known.HostKeyCallback(),
		HostKeyAlgorithms: known.HostKeyAlgorithms(address),
		ClientVersion:     "SSH-2.0-gitops-agent",
	}, nil
}

// explainHostKey says what a person has to compare.
func explainHostKey(err error, address, file string) error {
	switch {
	case knownhosts.IsHostKeyChanged(err):
		return fmt.Errorf("the host key of %s is not the one in %s: "+
			"the host was set up anew, or somebody is in between: %w", address, file, err)
	case knownhosts.IsHostUnknown(err):
		return fmt.Errorf("%s has no host key in %s: %w", address, file, err)
	case strings.Contains(err.Error(), "no common algorithm for host key"): // the package has no error of its own for it
		return fmt.Errorf("the host %s has no key of the kinds that %s knows of it: "+
			"the host was set up anew, or somebody is in between: %w", address, file, err)
	}
	return err
}

// sshCommand is what the host's shell is asked to run.
func (r remote) sshCommand() string {
	path := r.url.Path
	if strings.HasPrefix(path, "/~") { // ssh://host/~user/path is relative to a home directory
		path = path[1:]
	}
	return "git-upload-pack " + shellQuote(path)
}

// shellQuote makes one word of s for POSIX shells and csh, as git does.
func shellQuote(s string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(s) + "'"
}

func startUploadPack(client *ssh.Client, command string, left *int64) (*stream, error) {
	session, err := client.NewSession()
	if err != nil {
		return nil, fmt.Errorf("open ssh session: %w", err)
	}
	s := &stream{stderr: new(bytes.Buffer)}
	session.Stderr = &prefixWriter{s.stderr, maxSaid}
	if s.in, err = session.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = &meter{r: out, left: left}
	if err := session.Start(command); err != nil {
		return nil, fmt.Errorf("run git-upload-pack: %w", err)
	}
	s.stop = func() {
		leave := time.AfterFunc(time.Second, func() { _ = client.Close() })
		_ = session.Wait() // how it ended does not matter: the pack is checked
		leave.Stop()
	}
	return s, nil
}
