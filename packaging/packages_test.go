//go:build integration

package packaging

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// machine is the file system of this machine with a layer above it that takes all changes. Needs root.
type machine struct {
	*testing.T
	root string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t, filepath.Join(t.TempDir(), "root")}
	layer := filepath.Join(t.TempDir(), "layer")
	m.mkdir(m.root)
	m.mkdir(layer)
	m.mount(layer, "-t", "tmpfs", "tmpfs")
	m.mkdir(filepath.Join(layer, "upper"))
	m.mkdir(filepath.Join(layer, "work"))
	m.mount(m.root, "-t", "overlay", "overlay", "-o", "lowerdir=/,upperdir="+layer+"/upper,workdir="+layer+"/work")
	m.mount(filepath.Join(m.root, "dev"), "--bind", "/dev")
	return m
}

func (m *machine) mkdir(path string) {
	m.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		m.Fatal(err)
	}
}

func (m *machine) mount(at string, args ...string) {
	m.Helper()
	if out, err := exec.CommandContext(m.Context(), "mount", append(args, at)...).CombinedOutput(); err != nil {
		m.Fatalf("mount %v: %v\n%s", args, err, out)
	}
	m.Cleanup(func() {
		if out, err := exec.CommandContext(context.WithoutCancel(m.Context()), "umount", at).CombinedOutput(); err != nil {
			m.Errorf("umount %s: %v\n%s", at, err, out)
		}
	})
}

// try runs a command on the machine and returns its output.
func (m *machine) try(command ...string) (string, error) {
	m.Helper()
	cmd := exec.CommandContext(m.Context(), "chroot", append([]string{m.root}, command...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs a command that must succeed.
func (m *machine) run(command ...string) string {
	m.Helper()
	out, err := m.try(command...)
	if err != nil {
		m.Fatalf("%v: %v\n%s", command, err, out)
	}
	return out
}

func (m *machine) copy(file string) string {
	m.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		m.Fatal(err)
	}
	at := "/" + filepath.Base(file)
	if err := os.WriteFile(m.root+at, content, 0o600); err != nil {
		m.Fatal(err)
	}
	return at
}

func (m *machine) exists(path string) bool {
	_, err := os.Lstat(m.root + path)
	return err == nil
}

// packages installs, upgrades and removes the packages on a copy of this machine, as a user does. The state directory outlives all of it. The newer release is added to
// the folder of the first one, as in docs/packages.md.
func (r release) packages(t *testing.T) {
	secret, public := newOpenPGPKey(t)
	r.T = t
	r.build("0.4.0", "APT_KEY_FILE="+secret)
	file := func(version, packager string) string {
		return filepath.Join(r.folder, "gitops-agent_"+version+"_"+runtime.GOARCH+"."+packager)
	}
	t.Run("deb", func(t *testing.T) { testDeb(t, file(version, "deb"), file("0.4.0", "deb")) })
	t.Run("rpm", func(t *testing.T) { testRPM(t, file(version, "rpm"), file("0.4.0", "rpm")) })
	t.Run("apt", func(t *testing.T) { testAPT(t, filepath.Join(r.folder, "apt"), public) })
}

// failingSystemctl lets systemd seem to run. A restart fails, which is no error of a package.
func (m *machine) failingSystemctl() {
	m.Helper()
	m.mkdir(m.root + "/run/systemd/system")
	m.run("sh", "-c", `rm -f /usr/bin/systemctl && printf '#!/bin/sh\necho "$@" >> /systemctl.log\n[ "$1" != try-restart ]\n' > /usr/bin/systemctl && chmod 755 /usr/bin/systemctl`)
}

// testDeb installs, upgrades, removes and purges the Debian package with dpkg.
func testDeb(t *testing.T, older, newer string) {
	m := newMachine(t)

	said := m.run("dpkg", "--install", m.copy(older))
	if want := "systemctl enable --now gitops-agent"; !strings.Contains(said, want) {
		t.Errorf("got %s, want the next step: %s", said, want)
	}
	m.run("getent", "passwd", "gitops-agent")
	if got := m.run("dpkg-query", "--show", "--showformat=${Pre-Depends}", "gitops-agent"); got != "passwd" {
		t.Errorf("got Pre-Depends %q, want passwd, whose useradd preinstall calls", got)
	}
	if got := m.run("stat", "--format=%U %G %a %n", "/etc/gitops-agent", "/etc/gitops-agent/config.yaml", "/usr/share/man/man1", "/usr/bin/gitops-agent"); got !=
		"root gitops-agent 750 /etc/gitops-agent\nroot gitops-agent 640 /etc/gitops-agent/config.yaml\nroot root 755 /usr/share/man/man1\nroot root 755 /usr/bin/gitops-agent\n" {
		t.Errorf("got owners and modes\n%s", got)
	}
	if out, err := m.try("gitops-agent", "config", "check"); err == nil || !strings.Contains(out, "/etc/gitops-agent/trusted_root.json") {
		t.Errorf("got %v and %s, want the example config to need the user's files", err, out)
	}
	m.run("gitops-agent", "version")
	m.run("bash", "-n", "/usr/share/bash-completion/completions/gitops-agent")
	if page := m.run("zcat", "/usr/share/man/man1/gitops-agent-run.1.gz"); !strings.Contains(page, "--take\\-over") && !strings.Contains(page, "--take-over") {
		t.Errorf("got manual page %s, want the flags of the command", page)
	}

	m.run("install", "--directory", "--owner=gitops-agent", "--mode=700", "/var/lib/gitops-agent/journal")
	m.run("sh", "-c", "echo '# changed by a person' >> /etc/gitops-agent/config.yaml")
	// systemd runs, and the new program does not start with the config, which the service's log explains. The upgrade ends nevertheless.
	m.failingSystemctl()
	if said := m.run("dpkg", "--install", m.copy(newer)); !strings.Contains(said, "journalctl") {
		t.Errorf("got %s, want where the reason is", said)
	}
	if got := m.run("cat", "/systemctl.log"); !strings.Contains(got, "try-restart gitops-agent.service") {
		t.Errorf("got commands %q, want a restart", got)
	}
	if got := m.run("dpkg-query", "--show", "--showformat=${Version}", "gitops-agent"); got != "0.4.0" {
		t.Errorf("got version %s, want 0.4.0", got)
	}
	if got := m.run("tail", "--lines=1", "/etc/gitops-agent/config.yaml"); got != "# changed by a person\n" {
		t.Errorf("got config that ends with %q, want the change kept by the upgrade", got)
	}

	m.run("dpkg", "--remove", "gitops-agent")
	if m.exists("/usr/bin/gitops-agent") || !m.exists("/etc/gitops-agent/config.yaml") || !m.exists("/var/lib/gitops-agent/journal") {
		t.Error("want remove to delete the program, and to keep config and state directory")
	}
	said = m.run("dpkg", "--purge", "gitops-agent")
	if m.exists("/etc/gitops-agent/config.yaml") || !m.exists("/var/lib/gitops-agent/journal") || !strings.Contains(said, "/var/lib/gitops-agent") {
		t.Errorf("got %s, want purge to delete the config, to keep the state directory, and to say where it is", said)
	}
}

// testRPM installs, upgrades and removes the RPM with rpm. Debian has no database of RPMs, so the packages that it depends on are not looked for.
func testRPM(t *testing.T, older, newer string) {
	m := newMachine(t)
	if said, want := m.run("rpm", "--install", "--nodeps", m.copy(older)), "systemctl enable --now gitops-agent"; !strings.Contains(said, want) {
		t.Errorf("got %s, want the next step: %s", said, want)
	}
	if got := m.run("rpm", "--query", "--requires", "gitops-agent"); !strings.Contains(got, "ca-certificates\nshadow-utils\n") {
		t.Errorf("got requirements\n%s", got)
	}
	m.run("rpm", "--verify", "--nodeps", "gitops-agent")
	m.run("gitops-agent", "version")
	m.run("install", "--directory", "--owner=gitops-agent", "--mode=700", "/var/lib/gitops-agent/journal")
	m.run("sh", "-c", "echo '# changed by a person' >> /etc/gitops-agent/config.yaml")
	m.failingSystemctl()
	if said := m.run("rpm", "--upgrade", "--nodeps", m.copy(newer)); !strings.Contains(said, "journalctl") {
		t.Errorf("got %s, want where the reason is", said)
	}
	if got := m.run("cat", "/systemctl.log"); !strings.Contains(got, "try-restart gitops-agent.service") || strings.Contains(got, "disable") {
		t.Errorf("got commands %q, want a restart", got)
	}
	if got := m.run("tail", "--lines=1", "/etc/gitops-agent/config.yaml"); got != "# changed by a person\n" {
		t.Errorf("got config that ends with %q, want the change kept by the upgrade", got)
	}
	if got := m.run("rpm", "--query", "gitops-agent"); !strings.HasPrefix(got, "gitops-agent-0.4.0-1.") {
		t.Errorf("got %s, want version 0.4.0", got)
	}
	said := m.run("rpm", "--erase", "gitops-agent")
	if m.exists("/usr/bin/gitops-agent") || !m.exists("/etc/gitops-agent/config.yaml.rpmsave") || !m.exists("/var/lib/gitops-agent/journal") || !strings.Contains(said, "/var/lib/gitops-agent") {
		t.Errorf("got %s, want the program deleted, config and state directory kept, and where that is", said)
	}
	if got := m.run("cat", "/systemctl.log"); !strings.Contains(got, "disable --now gitops-agent.service") {
		t.Errorf("got commands %q, want the service stopped", got)
	}
}

// testAPT installs from the repository with apt, which verifies its signature, and upgrades to the newer release.
func testAPT(t *testing.T, repository, key string) {
	m := newMachine(t)
	at := m.root + "/repository"
	m.mkdir(at)
	m.mkdir(m.root + "/lists/partial")
	if err := os.CopyFS(at, os.DirFS(repository)); err != nil {
		t.Fatal(err)
	}
	apt := func(args ...string) (string, error) {
		return m.try(append([]string{"apt-get", "-o", "Dir::Etc::sourcelist=/gitops-agent.list", "-o", "Dir::Etc::sourceparts=/nowhere", "-o", "Dir::State::lists=/lists", "--quiet", "--yes", "--no-install-recommends"}, args...)...)
	}
	list := "deb [signed-by=" + m.copy(key) + "] file:/repository stable main\n"
	m.run("chmod", "a+r", m.copy(key))
	if err := os.WriteFile(m.root+"/gitops-agent.list", []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"update"}, {"install", "gitops-agent=" + version}, {"install", "gitops-agent"}} {
		if out, err := apt(args...); err != nil || strings.Contains(out, "W:") {
			t.Fatalf("apt-get %v: %v\n%s", args, err, out)
		}
	}
	if got := m.run("dpkg-query", "--show", "--showformat=${Version}", "gitops-agent"); got != "0.4.0" {
		t.Errorf("got version %s, want 0.4.0", got)
	}
	m.run("sh", "-c", "sed -i s/Origin:/Origin:x/ /repository/dists/stable/InRelease")
	if out, err := apt("update", "-o", "APT::Update::Error-Mode=any"); err == nil {
		t.Errorf("got an update from changed indexes, want a refusal:\n%s", out)
	}
}

// newOpenPGPKey returns the files of a new key, as docs/internals/releasing.md makes it.
func newOpenPGPKey(t *testing.T) (secret, public string) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("GNUPGHOME", folder)
	t.Cleanup(func() { _ = exec.Command("gpgconf", "--homedir", folder, "--kill", "all").Run() })
	run(t, "gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "gitops-agent release", "ed25519", "sign", "never")
	secret, public = filepath.Join(folder, "apt.key"), filepath.Join(folder, "gitops-agent.gpg")
	for path, content := range map[string][]byte{secret: run(t, "gpg", "--batch", "--armor", "--export-secret-keys"), public: run(t, "gpg", "--export")} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return secret, public
}
