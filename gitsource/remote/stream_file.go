package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// dialFile runs git upload-pack on a repository on this machine.
func dialFile(ctx context.Context, r Remote, remaining *int64) (Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "git", "upload-pack", r.url.Path) // #nosec G204 -- an absolute path, so no option
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.WaitDelay = 5 * time.Second
	s := &stream{stderr: new(bytes.Buffer)}
	cmd.Stderr = &prefixWriter{s.stderr, maxMessage}
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("a file remote needs the git program: %w", err)
		}
		return nil, err
	}
	s.in, s.out = in, &budgetReader{r: out, remaining: remaining}
	s.stop = func() {
		_ = out.Close()                             // the program may wait to write
		kill := time.AfterFunc(time.Second, cancel) // at the end of its input the program writes its last message and ends
		_ = cmd.Wait()                              // the exit status does not matter: the pack is checked
		kill.Stop()
		cancel()
	}
	return s, nil
}
