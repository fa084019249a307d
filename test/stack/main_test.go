//go:build integration

package stack

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gitops-agent/internal/gooverlay"
)

// programsVariable is the environment variable that is set inside the namespace. It lists the programs that were built outside,
// where there is a network.
const programsVariable = "GITOPS_AGENT_STACK"

// TestMain builds the programs and runs the tests in a new namespace.
func TestMain(m *testing.M) {
	if os.Getenv(programsVariable) == "" {
		log.Fatal(enter()) // it only returns with an error
	}
	if err := gooverlay.NoteSources("../.."); err != nil {
		log.Fatal(err)
	}
	m.Run()
}

// enter replaces this process by one in new network and process namespaces, with loopback up. When the process ends, all
// processes that the tests started end too.
func enter() error {
	if os.Getuid() != 0 {
		return errors.New("network namespaces need root")
	}
	for _, program := range []string{"unshare", "ip", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: apt-get install util-linux iproute2 git postgresql redis-server", err)
		}
	}
	if _, err := postgresPrograms(); err != nil {
		return err
	}
	if _, err := findRedis(); err != nil {
		return err
	}
	built, err := build()
	if err != nil {
		return err
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	args := []string{"unshare", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", `ip link set lo up && exec "$0" "$@"`, self}
	env := append(os.Environ(), programsVariable+"="+strings.Join(built, string(filepath.ListSeparator)))
	if err := syscall.Exec(unshare, append(args, os.Args[1:]...), env); err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	return nil
}
