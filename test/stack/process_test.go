//go:build integration

package stack

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a service may take to start on a busy machine.
const startTimeout = 2 * time.Minute

// start runs one of the programs until the end of the test, and waits until it is ready.
func (s *sigstore) start(p program, ready func(context.Context) bool, args ...string) {
	s.t.Helper()
	runService(s.t, exec.Command(p.file(), args...), syscall.SIGKILL, ready)
}

// runService starts a command and waits until it is ready. At the end of the test it sends the signal end to the command. If
// the test failed, it logs the command's output.
func runService(t *testing.T, cmd *exec.Cmd, end syscall.Signal, ready func(context.Context) bool) {
	t.Helper()
	name := filepath.Base(cmd.Path)
	log, err := os.CreateTemp(t.TempDir(), "log-*.txt")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{"HOME=" + filepath.Dir(log.Name()), "PATH=" + os.Getenv("PATH")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(end) // it may have ended
		err := <-ended
		if output, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s: %v\n%s", name, err, output)
		}
		_ = log.Close()
	})
	for deadline := time.Now().Add(startTimeout); !ready(t.Context()); {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v", name, err)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not ready after %s", name, startTimeout)
		}
	}
}

// answers returns a function that reports whether the URL returns status 200.
func answers(url string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
}
