package gooverlay

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clockVariable is the environment variable with the path of a process's clock file. A program of a user does not contain it.
const clockVariable = "GITOPS_CRASH_CLOCK"

// clockSource is added to package time of the programs under test. The file has two numbers: seconds to add to the wall clock, and nanoseconds
// to add to the monotonic clock. Timers are not affected.
const clockSource = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var crashClock = openCrashClock()

func openCrashClock() *[2]int64 {
	name, ok := syscall.Getenv("` + clockVariable + `")
	if !ok {
		return new([2]int64)
	}
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("open the clock file: " + err.Error())
	}
	data, err := syscall.Mmap(fd, 0, 16, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("map the clock file: " + err.Error())
	}
	return (*[2]int64)(unsafe.Pointer(&data[0]))
}

func crashOffset(i int) int64 {
	if crashClock == nil {
		return 0
	}
	return atomic.LoadInt64(&crashClock[i])
}
`

// BuildWithClock builds programs whose clock a Clock sets, from sources that may be changed as for Build, into the folder dir.
func BuildWithClock(t testing.TB, dir string, sources map[string]string, programs ...string) {
	t.Helper()
	env := exec.CommandContext(t.Context(), "go", "env", "GOROOT")
	env.Env = append(os.Environ(), "GOFLAGS=") // with -json it would not print the value alone
	goroot, err := env.Output()
	if err != nil {
		t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time", "time.go")
	text, err := os.ReadFile(original) //nolint:gosec // a file of Go
	if err != nil {
		t.Fatal(err)
	}
	changed := string(text)
	for old, now := range map[string]string{
		"sec, nsec, mono := runtimeNow()\n": "sec, nsec, mono := runtimeNow()\n\tsec += crashOffset(0)\n\tif mono != 0 {\n\t\tmono += crashOffset(1)\n\t}\n",
		"runtimeNano()-startNano, t.ext)":   "runtimeNano()+crashOffset(1)-startNano, t.ext)",
		"t.ext, runtimeNano()-startNano)":   "t.ext, runtimeNano()+crashOffset(1)-startNano)",
	} {
		if strings.Count(changed, old) != 1 {
			t.Fatalf("got %d places with %q in %s, want one: adapt this function to the version of Go", strings.Count(changed, old), old, original)
		}
		changed = strings.Replace(changed, old, now, 1)
	}
	sources[original], sources[filepath.Join(filepath.Dir(original), "crash_clock.go")] = changed, clockSource
	Build(t, sources, "build", append([]string{"-trimpath", "-o", dir + "/"}, programs...)...)
}

// Clock is the clock of one process that BuildWithClock has built: how far it is ahead of the real one. Set writes changes to its file.
type Clock struct {
	File string
	Wall time.Duration // whole seconds
	Mono time.Duration
}

// Env returns the entry of a process's environment with which it has this clock.
func (c *Clock) Env() string { return clockVariable + "=" + c.File }

// Set writes the clock file. The two numbers are written at once, and a process that reads between them sees a jump in two parts.
func (c *Clock) Set() error {
	content, err := binary.Append(nil, binary.NativeEndian, [2]int64{int64(c.Wall / time.Second), int64(c.Mono)})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = f.WriteAt(content, 0)
	return err
}

// Pass lets time pass for the process.
func (c *Clock) Pass(d time.Duration) error {
	c.Wall += d
	c.Mono += d
	return c.Set()
}
