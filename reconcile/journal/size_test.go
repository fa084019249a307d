package journal_test

import (
	"fmt"
	"os"
	"testing"

	"gitops-agent/reconcile/journal"
)

// maxJournal is what the journal may have on disk with the default options: the kept history, and as much again before the next compaction.
const maxJournal = 20 << 20

// TestSizeOfTheJournalIsBounded records as many steps as a busy agent makes in years, and measures the files.
func TestSizeOfTheJournalIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	compactions := 0
	j, err := journal.Open(journal.Options{Dir: dir, OnCompact: func(c journal.Compacted) {
		compactions++
		if c.Err != nil {
			t.Errorf("compact: %v", c.Err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	const steps, batch = 40_000, 500
	var most int64
	for first := 0; first < steps; first += batch {
		var bodies []journal.Body
		for i := first; i < first+batch; i++ {
			step := fmt.Sprintf("STEP%012d", i)
			bodies = append(bodies, journal.Begun{
				Step: step, VMID: 201 + i%50, Kind: "VirtualMachine", Name: fmt.Sprintf("web-%d", i%50), Node: "pve1", Op: "config", Class: "live",
				Revision: "main@sha1:3bc6fbb4ee465425b1afffa912e5d3b36cf22783", StepDigest: "6c6e4b5435c52c5186a626c99efc5ee9",
			}, journal.Dispatched{Step: step, UPID: fmt.Sprintf("UPID:pve1:000003F0:0003C65A:6B033D93:qmconfig:%d:gitops@pve!agent:", 201+i%50)},
				journal.Ended{Step: step, Result: journal.Done})
		}
		if err := j.Append(t.Context(), bodies...); err != nil {
			t.Fatal(err)
		}
		if first%(10*batch) == 0 {
			most = max(most, sizeOf(t, dir))
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d steps, %d compactions: at most %.1f MiB", steps, compactions, float64(most)/(1<<20))
	if most > maxJournal || compactions == 0 {
		t.Errorf("got %d bytes at most after %d compactions, want at most %d", most, compactions, maxJournal)
	}
}

// sizeOf returns the bytes of the files in a folder.
func sizeOf(t *testing.T, dir string) (total int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // a compaction may have removed it
			total += info.Size()
		}
	}
	return total
}
