package gitsource_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A fetch that is cancelled while upload-pack sends objects waits for the program, so that it leaves neither a process nor a goroutine behind.
func TestCancelledFetchWaitsForUploadPack(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	g := newGit(t)
	g.history("main", 1)
	bin := t.TempDir()
	pid := filepath.Join(bin, "pid")
	script := "#!/bin/sh\nPATH=" + os.Getenv("PATH") + "\n" + program + " upload-pack --advertise-refs \"$2\"\necho $$ > " + pid + ".new\nmv " + pid + ".new " + pid + "\nexec sleep 600\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s, _ := openSource(t, fileRemote(g))
	t.Setenv("PATH", bin)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Fetch(ctx)
		ended <- err
	}()
	var text []byte
	for {
		if text, err = os.ReadFile(pid); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("got no error, want that of a cancelled fetch")
	}
	process, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	// A fetch that was cancelled before it took the reply waits in the background. A process for which nothing waits stays until the tests end.
	for tries := 0; !errors.Is(syscall.Kill(process, 0), syscall.ESRCH); tries++ {
		if tries == 4000 {
			t.Fatal("got a program that ended and for which nothing waits, want the fetch to wait for it")
		}
		time.Sleep(5 * time.Millisecond)
	}
}
