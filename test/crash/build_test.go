//go:build integration

package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/internal/gooverlay"
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

// buildPrograms returns the folder of the programs, which it builds unless the command line names one.
func buildPrograms(t testing.TB) string {
	t.Helper()
	if *crashPrograms != "" {
		return *crashPrograms
	}
	return buildChanged(t, map[string]string{})
}

// buildChanged builds the agent and the simulator with a clock that the harness sets, from sources that may be changed, and returns their folder.
func buildChanged(t testing.TB, sources map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	env := exec.CommandContext(t.Context(), "go", "env", "GOROOT")
	env.Env = append(os.Environ(), "GOFLAGS=") // with -json it would not print the value alone
	goroot, err := env.Output()
	if err != nil {
		t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
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
	gooverlay.Build(t, sources, "build", "-trimpath", "-o", dir+"/", "gitops-agent/cmd/gitops-agent", "gitops-agent/cmd/pvesim")
	return dir
}
