//go:build integration

package gitsource_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/gitsource"
)

// An openssh is the real sshd in front of git. The test listens and starts one sshd for each connection, as inetd does. So
// the test chooses a free port, and no server keeps running.
type openssh struct {
	t       *testing.T
	dir     string // of its keys and settings
	address string

	mu  sync.Mutex
	log bytes.Buffer // stderr of the servers
}

// newOpenSSH starts to listen. It accepts only the key named client.
func newOpenSSH(t *testing.T) *openssh {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	o := &openssh{t: t, dir: t.TempDir(), address: listener.Addr().String()}
	t.Cleanup(o.logOutput)
	o.requirements()
	o.keygen("client", "ed25519", "")
	o.admit("client", gitShell)
	o.hostKeys("ed25519")
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go o.serve(conn.(*net.TCPConn))
		}
	}()
	return o
}

// requirements fails the test if sshd cannot run. It makes the folder that sshd confines its children to. On Debian the
// service manager makes this folder.
func (o *openssh) requirements() {
	o.t.Helper()
	if os.Getuid() != 0 {
		o.t.Fatal("this test needs root, as sshd does")
	}
	for _, program := range []string{"/usr/sbin/sshd", "ssh", "ssh-keygen", "git-shell"} {
		if _, err := exec.LookPath(program); err != nil {
			o.t.Fatalf("%v: apt-get install openssh-server openssh-client git", err)
		}
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		o.t.Fatal(err)
	}
}

// logOutput logs stderr of the servers if the test failed.
func (o *openssh) logOutput() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.t.Failed() {
		o.t.Logf("sshd:\n%s", o.log.String())
	}
}

func (o *openssh) file(name string) string { return filepath.Join(o.dir, name) }

func (o *openssh) write(name, content string) {
	o.t.Helper()
	if err := os.WriteFile(o.file(name), []byte(content), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// keygen makes a key pair and replaces an older pair of the same name.
func (o *openssh) keygen(name, kind, passphrase string) {
	o.t.Helper()
	_ = os.Remove(o.file(name))
	cmd := exec.CommandContext(o.t.Context(), "ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", name, "-f", o.file(name))
	if out, err := cmd.CombinedOutput(); err != nil {
		o.t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
}

// gitShell is a command that only serves repositories, as on forges.
const gitShell = `git-shell -c \"$SSH_ORIGINAL_COMMAND\"`

// admit accepts only the given key. The server always runs command for it.
func (o *openssh) admit(key, command string) {
	o.t.Helper()
	public, err := os.ReadFile(o.file(key + ".pub"))
	if err != nil {
		o.t.Fatal(err)
	}
	o.write("authorized_keys", `restrict,command="`+command+`" `+string(public))
}

// hostKeys replaces all keys of the host by new keys of the given kinds.
func (o *openssh) hostKeys(kinds ...string) {
	o.t.Helper()
	var config strings.Builder
	fmt.Fprintf(&config, "AuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n"+
		"KbdInteractiveAuthentication no\nPermitRootLogin forced-commands-only\nLogLevel VERBOSE\n", o.file("authorized_keys"))
	for _, kind := range kinds {
		o.keygen("host_"+kind, kind, "")
		fmt.Fprintf(&config, "HostKey %s\n", o.file("host_"+kind))
	}
	o.write("sshd_config", config.String())
}

// serve starts one sshd for one connection.
func (o *openssh) serve(conn *net.TCPConn) {
	defer conn.Close()
	socket, err := conn.File()
	if err != nil {
		return
	}
	defer socket.Close()
	var output bytes.Buffer
	cmd := exec.CommandContext(o.t.Context(), "/usr/sbin/sshd", "-i", "-e", "-f", o.file("sshd_config"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = socket, socket, &output
	err = cmd.Run()
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintf(&o.log, "%s(%v)\n", output.String(), err)
}

// meet connects with the real ssh for the first time, which writes the host to a known_hosts file, as for a person. ssh
// prefers one kind of host key. git-shell refuses the command, so only the connection counts.
func (o *openssh) meet(hostKeyAlgorithm string, options ...string) (knownHosts string) {
	o.t.Helper()
	file := filepath.Join(o.t.TempDir(), "known_hosts")
	host, port, err := net.SplitHostPort(o.address)
	if err != nil {
		o.t.Fatal(err)
	}
	args := []string{"-F", "none", "-i", o.file("client"), "-p", port}
	for _, option := range append(options, "BatchMode=yes", "StrictHostKeyChecking=accept-new", "UserKnownHostsFile="+file,
		"HostKeyAlgorithms="+hostKeyAlgorithm, "UpdateHostKeys=no") {
		args = append(args, "-o", option)
	}
	out, err := exec.CommandContext(o.t.Context(), "ssh", append(args, loginName(o.t)+"@"+host, "true")...).CombinedOutput()
	var refused *exec.ExitError
	if !errors.As(err, &refused) || refused.ExitCode() == 255 { // 255 is an error of ssh itself
		o.t.Fatalf("ssh: got %v, want the command to be refused\n%s", err, out)
	}
	if known, err := os.ReadFile(file); err != nil || strings.Count(string(known), "\n") != 1 {
		o.t.Fatalf("known_hosts: got %q, %v, want one line", known, err)
	}
	return file
}

func loginName(t *testing.T) string {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return me.Username
}

// remote returns the repository on this host, with a key of this host's folder.
func (o *openssh) remote(g git, key, knownHosts string) gitsource.Remote {
	return gitsource.Remote{
		URL: "ssh://" + loginName(o.t) + "@" + o.address + g.dir, SSHKeyFile: o.file(key), KnownHostsFile: knownHosts,
	}
}

// TestOpenSSHFetch clones, fetches without new commits, and fetches new commits through the real sshd.
func TestOpenSSHFetch(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 120)
	o := newOpenSSH(t)
	s, dir := openSource(t, o.remote(g, "client", o.meet("ssh-ed25519")))
	fetch(t, s, history...)
	fetch(t, s, history...)
	next := g.commit(g.files(map[string]string{"a.yaml": "x"}), "next", history[119])
	g.push("main", next)
	fetch(t, s, next)
	fsck(t, dir)
}

// TestOpenSSHHostKeys fetches from a host with keys of three kinds. The known_hosts file has one of them, in each form that
// ssh writes.
func TestOpenSSHHostKeys(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 2)
	o := newOpenSSH(t)
	o.hostKeys("ed25519", "ecdsa", "rsa")
	for _, algorithm := range []string{"ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512"} {
		for name, hash := range map[string]string{"plain": "HashKnownHosts=no", "hashed": "HashKnownHosts=yes"} {
			t.Run(algorithm+"_"+name, func(t *testing.T) {
				s, _ := openSource(t, o.remote(g, "client", o.meet(algorithm, hash)))
				fetch(t, s, history...)
			})
		}
	}
}

// TestOpenSSHHostKeyChanges fetches, gives the host another key, and expects an error until the known_hosts file has that key.
func TestOpenSSHHostKeyChanges(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 2)
	o := newOpenSSH(t)
	before := o.meet("ssh-ed25519")
	s, dir := openSource(t, o.remote(g, "client", before))
	fetch(t, s, history...)

	o.hostKeys("ed25519")
	next := g.commit(g.files(map[string]string{"a.yaml": "x"}), "next", history[1])
	g.push("main", next)
	wantRemoteError(t, s, "is not the one in "+before)
	readable(t, s, history...)
	if _, err := s.Repository().Commit(t.Context(), next); !errors.Is(err, gitsource.ErrNotFound) {
		t.Errorf("commit behind the changed key: got %v, want ErrNotFound", err)
	}
	fetch(t, reopenSource(t, dir, o.remote(g, "client", o.meet("ssh-ed25519"))), next)

	o.hostKeys("ecdsa") // of another type than the known key
	wantRemoteError(t, s, "has no key of the types in")
}

// TestOpenSSHRefuses expects a different error for each cause of a refusal.
func TestOpenSSHRefuses(t *testing.T) {
	g := newGit(t)
	g.history("main", 1)
	o := newOpenSSH(t)
	known, nobody := o.meet("ssh-ed25519"), filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(nobody, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.keygen("stranger", "ed25519", "")
	o.keygen("locked", "ed25519", "passphrase")
	elsewhere := git{t, filepath.Join(t.TempDir(), "o'ne !two.git")}
	for name, test := range map[string]struct {
		remote gitsource.Remote
		want   string
	}{
		"unknown_host":  {o.remote(g, "client", nobody), "has no host key in " + nobody},
		"stranger":      {o.remote(g, "stranger", known), "unable to authenticate"},
		"locked_key":    {o.remote(g, "locked", known), "passphrase"},
		"no_repository": {o.remote(elsewhere, "client", known), "o'ne !two.git' does not appear to be a git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := openSource(t, test.remote)
			wantRemoteError(t, s, test.want)
		})
	}
}

// TestOpenSSHKeyKinds fetches with each kind of client key that ssh-keygen makes.
func TestOpenSSHKeyKinds(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 1)
	o := newOpenSSH(t)
	known := o.meet("ssh-ed25519")
	for _, kind := range []string{"rsa", "ecdsa"} {
		t.Run(kind, func(t *testing.T) {
			o.keygen("client_"+kind, kind, "")
			o.admit("client_"+kind, gitShell)
			s, _ := openSource(t, o.remote(g, "client_"+kind, known))
			fetch(t, s, history...)
		})
	}
}

// TestOpenSSHCommandsThatAreNotGit: if a host runs another command than git, the branch comes from the next remote.
func TestOpenSSHCommandsThatAreNotGit(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 2)
	o := newOpenSSH(t)
	known := o.meet("ssh-ed25519")
	for name, command := range map[string]string{
		"silent":  "sleep 10",
		"endless": "cat /dev/zero",
		"chatty":  "yes 0040some line that is no ref at all, however often it is output......",
		"gone":    "true",
	} {
		t.Run(name, func(t *testing.T) {
			o.admit("client", command)
			s, err := gitsource.Open(gitsource.Options{
				Dir: filepath.Join(t.TempDir(), "store"), Branch: "main", Timeout: 3 * time.Second, MaxFetchBytes: 4 << 20,
				Remotes: []gitsource.Remote{o.remote(g, "client", known), fileRemote(g)},
			})
			if err != nil {
				t.Fatal(err)
			}
			fetch(t, s, history...)
		})
	}
}
