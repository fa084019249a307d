//go:build integration

package observability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gitops-agent/internal/fulldisk"
	"gitops-agent/reconcile/report"
)

// diskGuests is the number of guests in the world disk.
const diskGuests = 12

// disk breaks the disk of the state directory: it is slow, hangs, is full, and is gone.
func disk(w *world) {
	w.ok(os.Mkdir(w.settings.state, 0o700))
	w.ok(syscall.Mount("tmpfs", w.settings.state, "tmpfs", 0, "size=8m"))
	w.Cleanup(func() { _ = syscall.Unmount(w.settings.state, syscall.MNT_DETACH) })
	for i := range diskGuests {
		w.repo.Files[fmt.Sprintf("web-%d.yaml", i)] = machine(fmt.Sprintf("web-%d", i), 201+i)
	}
	w.begin()
	w.quiet("GitopsAgentJournalSlow", "GitopsAgentStuck", "GitopsAgentJournalDamaged", "GitopsAgentStateDirectoryLost")

	// Each fsync takes a second while guests are repaired.
	end := w.delaySync(time.Second)
	w.working("GitopsAgentJournalSlow")
	end()
	w.converged()

	// A write to the disk does not end, in the middle of a cycle that records a drift. One of a commit would hang in the poll, and one of a step in the lane of its guest,
	// beside which cycles go on.
	end = w.delaySync(time.Hour)
	w.working("GitopsAgentStuck")
	end()
	w.resolve("GitopsAgentStuck")
	w.converged()

	w.ok(fulldisk.FillFileSystem(w.settings.state))
	w.working("GitopsAgentJournalDamaged")
	w.ok(os.Remove(filepath.Join(w.settings.state, "ballast")))
	w.terminate()
	w.start()
	w.resolve("GitopsAgentJournalDamaged")
	w.converged()

	journal, moved := filepath.Join(w.settings.state, "journal"), filepath.Join(w.settings.state, "moved")
	w.ok(os.Rename(journal, moved))
	w.fires("GitopsAgentStateDirectoryLost")
	w.ok(os.Rename(moved, journal))
	w.resolve("GitopsAgentStateDirectoryLost", "GitopsAgentJournalSlow")
	w.until("writes to be allowed", func(d report.Document) bool { return d.Writes.Allowed })
}

// working waits for an alert while a person keeps the agent busy: one guest after the other is edited, each seldom enough that the agent repairs it.
func (w *world) working(name string) {
	w.Helper()
	next := 0
	await(w, name+" to fire", func() bool {
		if vmid := 201 + next; w.sim.Value(vmid, "memory") == "512" {
			w.ok(w.sim.Edit(vmid, "memory", "777"))
			next = (next + 1) % diskGuests
		}
		return slices.ContainsFunc(w.pager.find(name, w.address), func(a alert) bool { return a.fired > 0 })
	})
	w.fires(name)
}

// delaySync makes every fsync of the agent take longer, until the returned function is called.
func (w *world) delaySync(d time.Duration) (end func()) {
	w.Helper()
	program, err := exec.LookPath("strace")
	if err != nil {
		w.Fatalf("%v: apt-get install strace", err)
	}
	log := w.path("strace.log")
	p := startProcess(w, log, exec.Command(program, "-f", "-o", os.DevNull, "-p", strconv.Itoa(w.process.Process.Pid),
		"-e", "trace=fsync,fdatasync", "-e", fmt.Sprintf("inject=fsync,fdatasync:delay_enter=%d", d.Microseconds())))
	await(w, "strace to attach to every thread", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", w.process.Process.Pid))
		w.ok(err)
		return !slices.ContainsFunc(threads, func(path string) bool {
			status, err := os.ReadFile(path)
			return err == nil && !strings.Contains(string(status), fmt.Sprintf("TracerPid:\t%d\n", p.Process.Pid)) // a thread may have ended
		})
	})
	return func() { p.stop(syscall.SIGTERM) }
}
