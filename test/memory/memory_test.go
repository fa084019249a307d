//go:build integration

package memory

import (
	"bufio"
	"context"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/gittest"
	"gitops-agent/internal/gooverlay"
	"gitops-agent/internal/sigtest"
)

var full = flag.Bool("memory-full", false, "the limits of a release, and inputs that reach them")

// shapeVariable is the environment variable with the shape that the test binary sends when it runs as git.
const shapeVariable = "MEMORY_SHAPE"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "git" {
		s := &server{in: bufio.NewReader(os.Stdin), out: bufio.NewWriter(os.Stdout), size: 1}
		name, isFull := strings.CutSuffix(os.Getenv(shapeVariable), " full")
		if isFull {
			s.size = 16
		}
		defer func() { _ = recover() }() // the agent has closed the stream
		notePoll()
		if name == "signed" {
			_ = gittest.UploadPack(context.Background(), filepath.Join(os.Getenv("HOME"), "forge.git"), os.Stdin, os.Stdout)
			return
		}
		shapes[name](s)
		return
	}
	if err := gooverlay.NoteSources(filepath.Join("..", "..")); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "memory")
	if err != nil {
		panic(err)
	}
	built.path = filepath.Join(dir, "gitops-agent")
	m.Run()
	_ = os.RemoveAll(dir)
}

// built is the agent with lowered limits, which the first test builds.
var built struct {
	sync.Once
	path string
}

// lowered are limits of the agent, and the lower ones with which it is built.
var lowered = []struct{ file, code, instead string }{
	{"gitsource/pack.go", "maxObjects    = 5_200_000", "maxObjects = 125_000"},
	{"gitsource/pack.go", "maxWork = 4 << 30", "maxWork = 256 << 20"},
	{"gitsource/pack.go", "workPerObject = 64 << 10", "workPerObject = 4 << 10"},
	{"gitsource/packs/receive.go", "maxRefs     = 500_000", "maxRefs     = 30_000"},
	{"gitsource/packs/receive.go", "minWork     = 256 << 20", "minWork     = 16 << 20"},
	{"gitsource/packs/receive.go", "inMemory    = 8 << 20", "inMemory    = 1 << 19"},
	{"gitsource/packs/receive.go", "maxHeld     = 24 << 20", "maxHeld     = 2 << 20"},
	{"internal/proxmox/wire/transport.go", "maxReply      = 32 << 20", "maxReply      = 2 << 20"},
	{"internal/proxmox/wire/transport.go", "Values: 3_000_000, Elements: 150_000", "Values: 200_000, Elements: 10_000"},
	{"cmd/gitops-agent/internal/statusview/client.go", "const maxStatus = 64 << 20", "const maxStatus = 4 << 20"},
	{"cmd/gitops-agent/internal/statusview/client.go", "Values: 1_000_000, Elements: 50_000", "Values: 62_500, Elements: 3125"},
	{"gitsource/remote/refs.go", "maxAdvertisement = 64 << 20", "maxAdvertisement = 4 << 20"},
	{"gitsource/remote/meter.go", "maxOverhead = 16 << 20", "maxOverhead = 4 << 20"},
	{"internal/proxmox/wire/held.go", "maxHeld       = 32 << 20", "maxHeld       = 4 << 20"},
}

// The goal: memory above what the agent holds without a hostile input, and processor time.
const (
	mostMemory       = 256 << 20
	mostLoweredBytes = 96 << 20
	mostTime         = 30 * time.Second
)

// build returns the agent with lowered limits, and puts the stand-in for git into a folder.
func build(t *testing.T, dir string) string {
	t.Helper()
	built.Do(func() { buildAgent(t, built.path) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "git")); err != nil {
		t.Fatal(err)
	}
	return built.path
}

func buildAgent(t *testing.T, program string) {
	t.Helper()
	sources := map[string]string{}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lowered {
		if *full {
			break
		}
		path := filepath.Join(root, l.file)
		if sources[path] == "" {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sources[path] = string(text)
		}
		if n := strings.Count(sources[path], l.code); n != 1 {
			t.Fatalf("got %d places with %q in %s, want one", n, l.code, l.file)
		}
		sources[path] = strings.Replace(sources[path], l.code, l.instead, 1)
	}
	gooverlay.Build(t, sources, "build", "-o", program, "gitops-agent/cmd/gitops-agent")
}

// trustedRoot writes the trusted root of a new Sigstore, and returns both.
func trustedRoot(t *testing.T, dir string) (*sigtest.Sigstore, string) {
	t.Helper()
	sigstore, err := sigtest.New(sigtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := sigstore.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "trusted_root.json")
	if err := os.WriteFile(path, trusted, 0o600); err != nil {
		t.Fatal(err)
	}
	return sigstore, path
}

// TestHostileReplies verifies a remote that sends each shape.
func TestHostileReplies(t *testing.T) {
	dir := t.TempDir()
	build(t, dir)
	trustedRoot(t, dir)
	memory, _, out := verify(t, dir, "honest")
	if !strings.Contains(out, "1 refused") {
		t.Fatalf("got %s, want one unsigned commit", out)
	}
	most := int64(mostLoweredBytes)
	if *full {
		most = mostMemory
	}
	for _, shape := range slices.Sorted(maps.Keys(shapes)) {
		used, took, out := verify(t, dir, shape)
		t.Logf("memory: %-20s %4d MiB above %d MiB, %5.1f s of processor time: %.200q", shape, max(used-memory, 0)>>20, memory>>20, took.Seconds(), outcome(out))
		if want := outcomes[shape]; !strings.Contains(out, want) || want == "" {
			t.Errorf("%s: got %.1000s, want %q", shape, out, want)
		}
		if used-memory > most || took > mostTime {
			t.Errorf("%s: got %d MiB and %s, want at most %d MiB and %s", shape, (used-memory)>>20, took, most>>20, mostTime)
		}
	}
}

// outcome returns the line with an error, or the last one.
func outcome(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if n := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "error: ") }); n >= 0 {
		_, text, _ := strings.Cut(lines[n], "error: ")
		if _, cause, found := strings.Cut(text, "remote.git: "); found {
			return cause
		}
		return text
	}
	return lines[len(lines)-1]
}

// verify runs the agent against a shape, and returns its most resident memory, its processor time with that of the program git, and what it printed.
func verify(t *testing.T, dir, shape string) (int64, time.Duration, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, built.path, "verify", "--repo", "file:///remote.git", "--branch", "main",
		"--trusted-root", filepath.Join(dir, "trusted_root.json"), "--signer", "https://accounts.test=alice@example.org")
	if *full {
		shape += " full"
	}
	cmd.Env = []string{"PATH=" + dir, "TMPDIR=" + t.TempDir(), "HOME=" + dir, shapeVariable + "=" + shape}
	forgetPeak(t)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("%s: got %v, want the agent to end by itself:\n%.2000s", shape, cmd.ProcessState, out)
	}
	own := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return usage.Maxrss << 10, own, string(out)
}

// polls is the named pipe, in the folder of the agent, to which the stand-in for git writes a byte each time it runs. It exists only in tests that wait for that.
const polls = "polls"

func notePoll() {
	pipe, err := os.OpenFile(filepath.Join(os.Getenv("HOME"), polls), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	_, _ = pipe.WriteString(".")
	_ = pipe.Close()
}

// forgetPeak must be called before a process is started: Linux counts the most memory of this process, which the new one shares until it runs its program, as that of the new one.
func forgetPeak(t *testing.T) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}
