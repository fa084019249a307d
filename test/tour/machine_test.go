//go:build integration

package tour

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// machine is a fresh Debian with systemd as its first process. It shares the network of the test.
type machine struct {
	testing.TB
	root string
	init string // process id of its systemd
}

// boot starts a machine on a layer above the root of Debian. Files are put on it before it starts.
func boot(t testing.TB, files map[string][]byte) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{TB: t, root: filepath.Join(dir, "root")}
	must(t, os.Mkdir(m.root, 0o755))
	m.mount(dir, "-t", "tmpfs", "tmpfs")
	for _, folder := range []string{"upper", "work", "root"} {
		must(t, os.Mkdir(filepath.Join(dir, folder), 0o755))
	}
	lower, err := filepath.EvalSymlinks(filepath.Join(os.Getenv(preparedVariable), "root"))
	must(t, err)
	m.mount(m.root, "-t", "overlay", "overlay", "-o", "lowerdir="+lower+",upperdir="+dir+"/upper,workdir="+dir+"/work")
	for path, content := range files {
		m.write(path, content)
	}

	var console bytes.Buffer
	cmd := exec.Command("systemd-nspawn", "--quiet", "--directory="+m.root, "--machine=tour", "--register=no", "--keep-unit", "--boot", "--console=read-only",
		"--resolv-conf=off", "--timezone=off", "--link-journal=no")
	cmd.Stdout, cmd.Stderr = &console, &console
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // its processes end with it
		_ = cmd.Wait()
		if t.Failed() && m.init == "" {
			t.Logf("the console of the machine:\n%s", console.String())
		}
	})
	await(t, "the first process of the machine", func() bool {
		child, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", cmd.Process.Pid))
		name, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(child)) + "/comm")
		if string(name) != "systemd\n" {
			return false
		}
		m.init = strings.TrimSpace(string(child))
		return true
	})
	await(t, "systemd to answer", func() bool {
		_, err := m.try("systemctl is-system-running || systemctl is-system-running | grep -q starting")
		return err == nil
	})
	if out, err := m.try("systemctl is-system-running --wait"); err != nil {
		failed, _ := m.try("systemctl --failed --no-pager")
		t.Fatalf("got a machine that is %s, want running:\n%s", out, failed)
	}
	return m
}

func (m *machine) mount(at string, args ...string) {
	m.Helper()
	if out, err := exec.CommandContext(m.Context(), "mount", append(args, at)...).CombinedOutput(); err != nil {
		m.Fatalf("mount %v: %v\n%s", args, err, out)
	}
	m.Cleanup(func() {
		if out, err := exec.CommandContext(context.WithoutCancel(m.Context()), "umount", "--lazy", at).CombinedOutput(); err != nil {
			m.Errorf("umount %s: %v\n%s", at, err, out)
		}
	})
}

// write puts a file on the machine.
func (m *machine) write(path string, content []byte) {
	m.Helper()
	at := filepath.Join(m.root, path)
	must(m, os.MkdirAll(filepath.Dir(at), 0o755))
	must(m, os.WriteFile(at, content, 0o644))
}

// try runs commands as root in a login at the machine, and returns their output. To a question they get the answer yes.
func (m *machine) try(commands string) (string, error) {
	m.Helper()
	cmd := exec.CommandContext(m.Context(), "nsenter", "--target", m.init, "--mount", "--uts", "--ipc", "--pid", "--cgroup", "env", "-i", "HOME=/root",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "bash", "-euo", "pipefail", "-c", "cd /root\n"+commands)
	cmd.Stdin = strings.NewReader(strings.Repeat("y\n", 10))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs commands that must succeed.
func (m *machine) run(commands string) string {
	m.Helper()
	began := time.Now()
	out, err := m.try(commands)
	if err != nil {
		log, _ := m.try("journalctl --no-pager --unit=gitops-agent --lines=60")
		m.Fatalf("%v from\n%s\nwith the output\n%s\nThe log of the agent:\n%s", err, commands, out, log)
	}
	m.Logf("%.1fs\n%s\n%s", time.Since(began).Seconds(), strings.TrimSpace(commands), strings.TrimSpace(out))
	return out
}

// property returns a property of the service of the agent.
func (m *machine) property(name string) string {
	m.Helper()
	out, err := m.try("systemctl show --value --property=" + name + " gitops-agent")
	must(m, err)
	return strings.TrimSpace(out)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience is the longest wait for one condition. It decides only how long a failing test takes.
const patience = 2 * time.Minute

// await waits for a condition.
func await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(100 * time.Millisecond) {
		if t.Context().Err() != nil || time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}
