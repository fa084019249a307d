//go:build integration

package tour

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"gitops-agent/internal/gooverlay"
)

// preparedVariable is the environment variable that is set inside the namespaces. It names the folder that prepare filled outside, where there is a network.
const preparedVariable = "GITOPS_AGENT_TOUR"

// TestMain prepares the packages and the root of Debian, and runs the tests in new namespaces.
func TestMain(m *testing.M) {
	if os.Getenv(preparedVariable) == "" {
		code, err := outside()
		if err != nil {
			log.Fatal(err)
		}
		if code != 0 {
			log.Fatalf("the tests ended with status %d", code)
		}
		return
	}
	if err := gooverlay.NoteSources("../.."); err != nil {
		log.Fatal(err)
	}
	m.Run()
}

// outside runs this program again in namespaces of its own, and returns its exit status.
func outside() (int, error) {
	if os.Getuid() != 0 {
		return 0, errors.New("namespaces and systemd need root")
	}
	for _, program := range []string{"unshare", "nsenter", "ip", "git", "mmdebstrap", "systemd-nspawn"} {
		if _, err := exec.LookPath(program); err != nil {
			return 0, fmt.Errorf("%w: apt-get install util-linux iproute2 git mmdebstrap systemd-container", err)
		}
	}
	dir, err := os.MkdirTemp("", "tour")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := prepare(dir); err != nil {
		return 0, err
	}
	groups, err := newControlGroup()
	if err != nil {
		return 0, err
	}
	defer groups.remove()
	return groups.run(dir)
}

// prepare builds two versions of the package, and links the root of Debian.
func prepare(dir string) error {
	for _, version := range []string{"0.1.0", "0.2.0"} {
		if out, err := exec.Command("../../packaging/build", version, dir, runtime.GOARCH).CombinedOutput(); err != nil {
			return fmt.Errorf("packaging/build: %w\n%s", err, out)
		}
	}
	root, err := debianRoot()
	if err != nil {
		return err
	}
	return os.Symlink(root, filepath.Join(dir, "root"))
}

// enter is what the new namespaces need before the tests: loopback, and a /run of their own, which systemd-nspawn uses.
const enter = `ip link set lo up && mount -t tmpfs tmpfs /run && exec "$0" "$@"`

// run runs this program in its control groups and in namespaces. When it ends, also because this process is killed, all processes and mounts of the tests end too.
func (c controlGroup) run(prepared string) (int, error) {
	runtime.LockOSThread() // Pdeathsig is sent when the thread ends
	defer runtime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	join := fmt.Sprintf(`for f in %s; do echo $$ > "$f/cgroup.procs"; done; exec unshare --net --mount --pid --fork --kill-child --mount-proc sh -c '%s' "$0" "$@"`,
		strings.Join(c, " "), enter)
	cmd := exec.Command("sh", append([]string{"-c", join, self}, os.Args[1:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), preparedVariable+"="+prepared)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return 0, fmt.Errorf("enter namespaces: %w", err)
	}
	return cmd.ProcessState.ExitCode(), nil
}
