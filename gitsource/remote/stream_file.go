package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// dialFile runs git upload-pack on a repository on this machine.
func dialFile(ctx context.Context, r Remote, remaining *int64) (Session, error) {
	if r.UploadPack != nil {
		return dialProcess(ctx, r, remaining), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "git", "upload-pack", r.url.Path) // #nosec G204 -- an absolute path, so no option
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.Env = append(cmd.Env, "GIT_PROTOCOL="+protocol)
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

// dialProcess runs the UploadPack of a remote in this process.
func dialProcess(ctx context.Context, r Remote, remaining *int64) Session {
	ctx, cancel := context.WithCancelCause(ctx)
	requests, in := io.Pipe()
	out, replies := io.Pipe()
	closed := context.AfterFunc(ctx, func() {
		_ = requests.CloseWithError(context.Cause(ctx))
		_ = out.CloseWithError(context.Cause(ctx))
	})
	s := &stream{in: in, out: &budgetReader{r: out, remaining: remaining}, stderr: new(bytes.Buffer)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.UploadPack(ctx, r.url.Path, requests, replies); err != nil {
			fmt.Fprintln(&prefixWriter{s.stderr, maxMessage}, err)
		}
		_ = replies.Close()
		_ = requests.Close()
	}()
	s.stop = func() {
		_ = out.Close() // the function may wait to write
		<-ended
		closed()
		cancel(nil)
	}
	return s
}
