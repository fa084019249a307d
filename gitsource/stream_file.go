package gitsource

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

// dialFile runs git upload-pack on a repository of this machine.
func dialFile(ctx context.Context, r remote, left *int64) (session, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "git", "upload-pack", r.url.Path) // #nosec G204 -- an absolute path, so no option
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.WaitDelay = 5 * time.Second
	s := &stream{stderr: new(bytes.Buffer)}
	cmd.Stderr = &prefixWriter{s.stderr, maxSaid}
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
	s.in, s.out = in, &meter{r: out, left: left}
	s.stop = func() {
		_ = out.Close()                              // it may be waiting to write
		leave := time.AfterFunc(time.Second, cancel) // after its input ended it leaves by itself, with its last words
		_ = cmd.Wait()                               // how it ended does not matter: the pack is checked
		leave.Stop()
		cancel()
	}
	return s, nil
}
