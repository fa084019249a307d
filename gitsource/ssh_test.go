package gitsource_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/gitsource"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// An sshd is an ssh server in this process that runs only git upload-pack.
type sshd struct {
	t        testing.TB
	address  string
	config   *ssh.ServerConfig
	commands atomic.Value // the last command, a string
}

// serveSSH starts a server with the given host keys that accepts the client key.
func serveSSH(t testing.TB, client ssh.PublicKey, hostKeys ...ssh.Signer) *sshd {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	d := &sshd{t: t, address: listener.Addr().String()}
	d.config = &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if !cmp.Equal(key.Marshal(), client.Marshal()) {
				return nil, ssh.ErrNoAuth
			}
			return nil, nil
		},
	}
	for _, k := range hostKeys {
		d.config.AddHostKey(k)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go d.serve(conn)
		}
	}()
	return d
}

func (d *sshd) serve(conn net.Conn) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, d.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		for r := range requests {
			if r.Type == "exec" {
				_ = r.Reply(true, nil)
				go d.exec(channel, string(r.Payload[4:]))
			}
		}
	}
}

// exec runs the command in a shell, as sshd does.
func (d *sshd) exec(channel ssh.Channel, command string) {
	defer channel.Close()
	d.commands.Store(command)
	cmd := exec.CommandContext(d.t.Context(), "sh", "-c", command)
	cmd.Env = gitEnv()
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	go func() {
		defer in.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := channel.Read(buf)
			if _, werr := in.Write(buf[:n]); err != nil || werr != nil {
				return
			}
		}
	}()
	status := uint32(0)
	if cmd.Wait() != nil {
		status = 128
	}
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
}

func ed25519Key(t testing.TB) (ssh.Signer, string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, writeFile(t, "id_ed25519", string(pem.EncodeToMemory(block)))
}

func ecdsaKey(t testing.TB) ssh.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// knownHosts writes a known_hosts file of lines.
func knownHosts(t testing.TB, lines ...string) string {
	t.Helper()
	return writeFile(t, "known_hosts", strings.Join(lines, "\n")+"\n")
}

func (d *sshd) line(key ssh.PublicKey) string { return knownhosts.Line([]string{d.address}, key) }

func (d *sshd) remote(g git, keyFile, known string) gitsource.Remote {
	return gitsource.Remote{URL: "ssh://git@" + d.address + g.dir, SSHKeyFile: keyFile, KnownHostsFile: known}
}

func TestFetchSSH(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 120)
	host := ecdsaKey(t)
	client, keyFile := ed25519Key(t)
	d := serveSSH(t, client.PublicKey(), host)
	s, dir := openSource(t, d.remote(g, keyFile, knownHosts(t, d.line(host.PublicKey()))))
	fetch(t, s, history...)
	fetch(t, s, history...)
	next := g.commit(g.files(map[string]string{"a.yaml": "x"}), "next", history[119])
	g.push("main", next)
	fetch(t, s, next)
	fsck(t, dir)
	if got, want := d.commands.Load(), "git-upload-pack '"+g.dir+"'"; got != want {
		t.Errorf("command: got %q, want %q", got, want)
	}
}

func TestFetchSSHHostKeys(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 2)
	ed, _ := ed25519Key(t)
	ec, other := ecdsaKey(t), ecdsaKey(t)
	client, keyFile := ed25519Key(t)
	d := serveSSH(t, client.PublicKey(), ed, ec)
	hashed := knownhosts.HashHostname(knownhosts.Normalize(d.address)) + " " +
		strings.SplitN(d.line(ec.PublicKey()), " ", 2)[1]
	elsewhere := knownhosts.Line([]string{"forge.example.org"}, other.PublicKey())
	for name, test := range map[string]struct{ known, want string }{
		"both_keys":          {knownHosts(t, d.line(ed.PublicKey()), d.line(ec.PublicKey())), ""},
		"only_the_second":    {knownHosts(t, d.line(ec.PublicKey())), ""}, // the client must offer only the algorithm of the known key
		"only_the_first":     {knownHosts(t, elsewhere, d.line(ed.PublicKey())), ""},
		"hashed_name":        {knownHosts(t, hashed), ""},
		"another_key":        {knownHosts(t, d.line(other.PublicKey())), "is not the one in"},
		"unknown_host":       {knownHosts(t, elsewhere), "has no host key in"},
		"another_port":       {knownHosts(t, knownhosts.Line([]string{"127.0.0.1"}, ec.PublicKey())), "where its name is " + knownhosts.Normalize(d.address)},
		"empty_file":         {knownHosts(t), "has no host key in"},
		"revoked":            {knownHosts(t, "@revoked "+d.line(ec.PublicKey()), d.line(ec.PublicKey())), "revoked"},
		"absent_file":        {"/nonexistent/known_hosts", "known hosts"},
		"malformed_file":     {knownHosts(t, "what is this"), "known hosts"},
		"unsupported_by_all": {knownHosts(t, d.line(other.PublicKey()), "@revoked "+d.line(ed.PublicKey())), "is not the one in"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := openSource(t, d.remote(g, keyFile, test.known))
			if test.want == "" {
				fetch(t, s, history...)
				return
			}
			wantRemoteError(t, s, test.want)
		})
	}
}

// TestFetchSSHHostKeyType: the known hosts file has only a key of a type that the host does not have.
func TestFetchSSHHostKeyType(t *testing.T) {
	g := newGit(t)
	g.history("main", 1)
	known, _ := ed25519Key(t)
	client, keyFile := ed25519Key(t)
	d := serveSSH(t, client.PublicKey(), ecdsaKey(t))
	s, _ := openSource(t, d.remote(g, keyFile, knownHosts(t, d.line(known.PublicKey()))))
	wantRemoteError(t, s, "has no key of the types in")
}

func TestFetchSSHRefuses(t *testing.T) {
	g := newGit(t)
	g.history("main", 1)
	host := ecdsaKey(t)
	client, keyFile := ed25519Key(t)
	_, strangerFile := ed25519Key(t)
	d := serveSSH(t, client.PublicKey(), host)
	known := knownHosts(t, d.line(host.PublicKey()))
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte("passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	missing := git{t, filepath.Join(t.TempDir(), "o'ne !two.git")}
	for name, test := range map[string]struct {
		remote gitsource.Remote
		want   string
	}{
		"stranger":      {d.remote(g, strangerFile, known), "unable to authenticate"},
		"no_key":        {d.remote(g, "/nonexistent/key", known), "read ssh key"},
		"no_key_at_all": {d.remote(g, known, known), "read ssh key"},
		"locked_key":    {d.remote(g, writeFile(t, "id", string(pem.EncodeToMemory(locked))), known), "passphrase"},
		"no_repository": {d.remote(missing, keyFile, known), "o'ne !two.git' does not appear to be a git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := openSource(t, test.remote)
			wantRemoteError(t, s, test.want)
			if _, err := s.Fetch(t.Context()); errors.Is(err, gitsource.ErrPassphrase) != (name == "locked_key") {
				t.Errorf("got %v, want ErrPassphrase only for a locked key", err)
			}
		})
	}
}

// TestFetchSSHHangs fetches from a host that accepts connections and sends nothing.
func TestFetchSSHHangs(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, keyFile := ed25519Key(t)
	s, err := gitsource.Open(gitsource.Options{
		Dir: t.TempDir(), Branch: "main", Timeout: 300 * time.Millisecond,
		Remotes: []gitsource.Remote{{
			URL: "ssh://" + listener.Addr().String() + "/r.git", SSHKeyFile: keyFile, KnownHostsFile: knownHosts(t),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantRemoteError(t, s, "timeout of 300ms exceeded")
}
