package remote

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

	"gitops-agent/gitsource/fault"
)

const connectTimeout = 15 * time.Second // to connect to a host, so that an unreachable host does not use the whole Timeout

// dialSSH runs git-upload-pack on a host whose key is in the known hosts file.
func dialSSH(ctx context.Context, r Remote, remaining *int64) (Session, error) {
	address := net.JoinHostPort(r.url.Hostname(), cmp.Or(r.url.Port(), "22"))
	config, err := r.sshConfig(address)
	if err != nil {
		return nil, fault.New(fault.Local, err)
	}
	m := new(meter)
	conn, err := m.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stopWatch := context.AfterFunc(ctx, func() { _ = conn.Close() }) // package ssh does not support contexts
	closeConn := func() {
		stopWatch()
		_ = conn.Close()
	}
	_ = conn.SetDeadline(time.Now().Add(connectTimeout))
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		closeConn()
		return nil, explainHostKey(err, address, r.conf.KnownHostsFile)
	}
	_ = conn.SetDeadline(time.Time{})
	client := ssh.NewClient(c, channels, requests)
	s, err := startUploadPack(client, r.sshCommand(), &budgetReader{remaining: remaining, meter: m})
	if err != nil {
		closeConn()
		return nil, err
	}
	stop := s.stop
	s.stop = func() {
		stop()
		closeConn()
		_ = client.Wait() // until its goroutines have ended
	}
	return s, nil
}

// sshConfig reads the key and the known keys of the host. It offers only the algorithms of the known keys of this host.
// Otherwise a host with several keys could choose a key that is not in the file.
func (r Remote) sshConfig(address string) (*ssh.ClientConfig, error) {
	pem, err := ReadSmallFile(r.conf.SSHKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read ssh key: %w", err)
	}
	key, err := ssh.ParsePrivateKey(pem)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return nil, fmt.Errorf("read ssh key %s: %w", r.conf.SSHKeyFile, ErrPassphrase)
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

// negotiatedHostKey is the value of ssh.AlgorithmNegotiationError.What if client and host have no common host key algorithm.
// Source: findAgreedAlgorithms in golang.org/x/crypto/ssh.
const negotiatedHostKey = "host key"

// sshNotAuthenticated is in the error of a handshake after the host has rejected the key. The package has no type for it.
// Source: NewClientConn and clientAuthenticate in golang.org/x/crypto/ssh.
const sshNotAuthenticated = "unable to authenticate"

// explainHostKey adds to an error of the ssh handshake what the operator has to compare.
func explainHostKey(err error, address, file string) error {
	var negotiation *ssh.AlgorithmNegotiationError
	switch {
	case knownhosts.IsHostKeyChanged(err):
		return fault.New(fault.TLS, fmt.Errorf("the host key of %s is not the one in %s: "+
			"the host has a new key, or another host intercepts the connection: %w", address, file, err))
	case knownhosts.IsHostUnknown(err):
		// A key without a port is enough for OpenSSH, so that git works where the agent does not.
		name := knownhosts.Normalize(address)
		return fault.New(fault.TLS, fmt.Errorf("%s has no host key in %s, where its name is %s: %w", address, file, name, err))
	case errors.As(err, &negotiation) && negotiation.What == negotiatedHostKey:
		return fault.New(fault.TLS, fmt.Errorf("the host %s has no key of the types in %s: "+
			"the host has a new key, or another host intercepts the connection: %w", address, file, err))
	case strings.Contains(err.Error(), sshNotAuthenticated):
		return fault.New(fault.Unauthorized, err)
	}
	return err
}

// sshCommand returns the command that the host's shell runs.
func (r Remote) sshCommand() string {
	path := r.url.Path
	if strings.HasPrefix(path, "/~") { // ssh://host/~user/path is relative to a home directory
		path = path[1:]
	}
	return "git-upload-pack " + shellQuote(path)
}

// shellQuote quotes s as one word for POSIX shells and csh, as git does.
func shellQuote(s string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(s) + "'"
}

// startUploadPack runs command in a session of client, and reads its output within a budget.
func startUploadPack(client *ssh.Client, command string, budget *budgetReader) (*stream, error) {
	session, err := client.NewSession()
	if err != nil {
		return nil, fmt.Errorf("open ssh session: %w", err)
	}
	s := &stream{out: budget, stderr: new(bytes.Buffer)}
	session.Stderr = &prefixWriter{s.stderr, maxMessage}
	if s.in, err = session.StdinPipe(); err != nil {
		return nil, err
	}
	if budget.r, err = session.StdoutPipe(); err != nil {
		return nil, err
	}
	// A host that refuses it speaks version 0. No answer is waited for, as in OpenSSH.
	_, _ = session.SendRequest("env", false, ssh.Marshal(struct{ Name, Value string }{"GIT_PROTOCOL", protocol}))
	if err := session.Start(command); err != nil {
		return nil, fmt.Errorf("run git-upload-pack: %w", err)
	}
	s.stop = func() {
		kill := time.AfterFunc(time.Second, func() { _ = client.Close() })
		_ = session.Wait() // the exit status does not matter: the pack is checked
		kill.Stop()
	}
	return s, nil
}
