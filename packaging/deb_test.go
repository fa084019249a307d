//go:build integration

package packaging

import (
	"bytes"
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

// build runs packaging/build for the architecture of this machine. It returns the path of the package and the checksums.
func build(t *testing.T, version string) (deb string, sums []byte) {
	t.Helper()
	folder := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "./build", version, folder, runtime.GOARCH).CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	sums, err = os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "gitops-agent_"+version+"_"+runtime.GOARCH+".deb"), sums
}

// TestPackage installs, upgrades, removes and purges the Debian package on a copy of this machine, as dpkg does for a user. The state directory
// outlives all of it.
func TestPackage(t *testing.T) {
	older, sums := build(t, "0.1.0")
	if _, again := build(t, "0.1.0"); !bytes.Equal(sums, again) {
		t.Errorf("got checksums %s, want those of the first build of the same commit:\n%s", again, sums)
	}
	newer, _ := build(t, "0.2.0")
	m := newMachine(t)

	said := m.run("dpkg", "--install", m.copy(older))
	if want := "systemctl enable --now gitops-agent"; !strings.Contains(said, want) {
		t.Errorf("got %s, want the next step: %s", said, want)
	}
	m.run("getent", "passwd", "gitops-agent")
	if got := m.run("dpkg-query", "--show", "--showformat=${Pre-Depends}", "gitops-agent"); got != "passwd" {
		t.Errorf("got Pre-Depends %q, want passwd, whose useradd preinst calls", got)
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
	m.mkdir(m.root + "/run/systemd/system")
	m.run("sh", "-c", `rm -f /usr/bin/systemctl && printf '#!/bin/sh\necho "$@" >> /systemctl.log\n[ "$1" != try-restart ]\n' > /usr/bin/systemctl && chmod 755 /usr/bin/systemctl`)
	if said := m.run("dpkg", "--install", m.copy(newer)); !strings.Contains(said, "journalctl") {
		t.Errorf("got %s, want where the reason is", said)
	}
	if got := m.run("cat", "/systemctl.log"); !strings.Contains(got, "try-restart gitops-agent.service") {
		t.Errorf("got commands %q, want a restart", got)
	}
	if got := m.run("dpkg-query", "--show", "--showformat=${Version}", "gitops-agent"); got != "0.2.0" {
		t.Errorf("got version %s, want 0.2.0", got)
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
