package reconcile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
)

// slowSweep makes the sweep read a guest once an hour, so that an earlier read has another cause.
func slowSweep(o *reconcile.Options) { o.Resync = time.Hour }

// reads returns how often virtual machines were read in full.
func (l *lab) reads() int {
	return l.sim.Counters().Routes["GET /nodes/{node}/qemu/{vmid}/pending"]
}

// readOf returns when a guest was last read in full.
func (l *lab) readOf(vmid int) time.Time { return l.guest(l.engine.Report(), vmid).ObservedAt }

// TestChangedGuestIsReadFirst makes the sweep very slow: the engine still reads a guest soon if its row or manifest changed, or if the agent wrote
// to it.
func TestChangedGuestIsReadFirst(t *testing.T) {
	t.Parallel()
	tests := map[string]func(l *lab){
		"row_changed": func(l *lab) { l.ok(l.sim.Edit(201, "tags", l.sim.Value(201, "tags")+";by-hand")) },
		"manifest_changed": func(l *lab) {
			l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}", "lifecycle: {rebootPolicy: never}")
			l.push("a change that needs no write", alice)
		},
		"agent_wrote": func(l *lab) {
			l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 3Gi}")
			l.push("more memory", alice)
			eventually(l, "the write", func() bool { return l.sim.Value(201, "memory") == "3072" })
		},
	}
	for name, event := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, []labOption{slowSweep}, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
				for _, other := range []struct {
					name string
					vmid int
				}{{"a-1", 202}, {"b-1", 203}, {"c-1", 204}, {"d-1", 205}, {"e-1", 206}, {"f-1", 207}, {"g-1", 208}, {"h-1", 209}} {
					l.files[other.name+".yaml"] = vmYAML(other.name, other.vmid)
				}
				l.push("nine guests", alice)
				defer l.start()()
				l.converge()
				// The sweep reads one guest a tick, so its next read is more than two minutes away after a read.
				last := l.readOf(201)
				eventually(t, "its read by the sweep", func() bool { return l.readOf(201).After(last) })
				happened := time.Now()
				event(l)
				eventually(t, "the guest to be read", func() bool { return l.readOf(201).After(happened) })
				if took := time.Since(happened); took > time.Minute {
					t.Errorf("got it read %s later, want it ahead of the others", took)
				}
				if l.sim.Effects(202, pvesim.Cloned) != 1 {
					t.Error("got no second guest, want nine")
				}
			})
		})
	}
}

// runLabWithVMList runs a test in virtual time with the simulator's list of guests in a file.
func runLabWithVMList(t *testing.T, test func(t *testing.T, l *lab, file string)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), ".vmlist")
		l := newLab(t, newSim(t, pvesim.Options{VMListFile: file}), func(o *reconcile.Options) { o.VMList = file })
		l.files["cluster.yaml"] = clusterYAML
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}", "description: serves the web")
		l.files["db.yaml"] = vmYAML("db-1", 202)
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		eventually(t, "the list to contain both guests unchanged", func() bool {
			list := l.engine.Report().Proxmox.VMList
			return list != nil && list.Skipped == 2 && list.Error == ""
		})
		test(t, l, file)
	})
}

// TestEngineUsesTheListOfGuests checks that an idle cluster only needs the inventory, the quorum and the claim, and that the engine finds a change within about a second,
// long before the next tick.
func TestEngineUsesTheListOfGuests(t *testing.T) {
	runLabWithVMList(t, func(t *testing.T, l *lab, _ string) {
		time.Sleep(31 * time.Second) // not at the moment of a tick
		l.sim.ResetCounters()
		time.Sleep(5 * time.Minute)
		if got := l.sim.Counters(); got.Reads != 45 || got.Routes["GET /pools"] != 5 || got.Writes != 0 || l.reads() != 0 {
			t.Errorf("got %d reads and %d writes in 20 ticks, want the inventory and the quorum alone, and the claim once a minute: %v", got.Reads, got.Writes, got.Routes)
		}
		l.ok(l.sim.Edit(201, "description", "by hand"))
		time.Sleep(4 * time.Second)
		if got := l.sim.Value(201, "description"); got != "serves the web" {
			t.Errorf("got description %q four seconds after an edit, want it repaired", got)
		}
		l.ok(l.sim.Edit(202, "memory", "512"))
		time.Sleep(4 * time.Second)
		if got := time.Since(l.readOf(202)); got > 4*time.Second {
			t.Errorf("got a reading of %s ago after an edit, want a newer one", got)
		}
	})
}

// TestEngineSweepsWithoutTheListOfGuests checks that the sweep continues, and that the report contains the error, while the file cannot be used.
func TestEngineSweepsWithoutTheListOfGuests(t *testing.T) {
	runLabWithVMList(t, func(t *testing.T, l *lab, file string) {
		whole, err := os.ReadFile(file)
		l.ok(err)
		l.ok(os.WriteFile(file, whole[:len(whole)/2], 0o600))
		eventually(t, "the error of the list", func() bool { return strings.Contains(l.engine.Report().Proxmox.VMList.Error, "parse list of guests") })
		for range 10 {
			time.Sleep(30 * time.Second)
			for _, vmid := range []int{201, 202} {
				if age := time.Since(l.readOf(vmid)); age > 75*time.Second {
					t.Fatalf("got %d read %s ago, want it within a resync and a tick", vmid, age)
				}
			}
		}
		if r := l.engine.Report(); !r.Converged {
			t.Errorf("got a report that is not converged: %+v", r.Guests)
		}
		l.ok(l.sim.Edit(202, "onboot", "1")) // the simulator writes the file again
		eventually(t, "the list to be used again", func() bool {
			list := l.engine.Report().Proxmox.VMList
			return list.Error == "" && list.Skipped == 2
		})
	})
}
