package reconcile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestManyFormerFilesAreDeleted lets the manifest allow the deletion of more former files than another object may have steps in a row. It is no failure.
func TestManyFormerFilesAreDeleted(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		defer l.start()()
		var sum string
		for i := range 14 {
			sum = strings.Repeat(fmt.Sprintf("%02x", 16+i), 32)
			l.publishISO(sum)
			l.files["image.yaml"] = strings.Replace(isoYAML(sum, "pve1"), "prune: true", "prune: false", 1)
			l.push(fmt.Sprint("image ", i), alice)
			l.converge()
		}
		if got := len(l.journal.State().Downloaded); got != 15 {
			t.Fatalf("got %d records of files, want the present one and 14 former ones", got)
		}
		l.files["image.yaml"] = isoYAML(sum, "pve1")
		l.push("prune", alice)
		eventually(t, "the deletions", func() bool {
			if l.imageHasReason(reason.Name(cluster.OpDeleteFile)) {
				t.Fatalf("got %+v, want no failure", l.object("Image/debian-13").Conditions)
			}
			return len(l.journal.State().Downloaded) == 1
		})
		l.converge()
		if got := l.sim.Counters().Routes[deletions]; got != 14 {
			t.Errorf("got %d deletions, want one of each former file", got)
		}
	})
}

// TestFailingFileHoldsUpNoOther lets a call about the file of pve1 fail each time. The file of pve2 is replaced meanwhile, the failure is reported, and the agent
// ends the rest when the cause is gone.
func TestFailingFileHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault  pvesim.Fault
		failed cluster.Op
	}{
		"download_fails":   {pvesim.Fault{Method: http.MethodPost, Path: "/nodes/pve1/.*/download-url$", Kind: pvesim.TaskFails, Text: "no space", Times: -1}, cluster.OpDownload},
		"download_refused": {pvesim.Fault{Method: http.MethodPost, Path: "/nodes/pve1/.*/download-url$", Kind: pvesim.ErrorText, Text: "no such server", Times: -1}, cluster.OpDownload},
		"deletion_fails":   {pvesim.Fault{Method: http.MethodDelete, Path: "/nodes/pve1/.*/content/", Kind: pvesim.TaskFails, Text: "read-only", Times: -1}, cluster.OpDeleteFile},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithPrune(t, func(t *testing.T, l *lab) {
				defer l.start()()
				l.files["image.yaml"] = isoYAML(debianSum, "pve1", "pve2")
				l.push("on both nodes", alice)
				l.converge()
				l.ok(l.sim.Inject(test.fault))
				l.newISO("pve1", "pve2")
				eventually(t, "the file of pve2", func() bool { return l.hasFile("pve2", newerISO) && !l.hasFile("pve2", isoVolume) })
				eventually(t, "the failure", func() bool { return l.imageHasReason(reason.Name(test.failed)) })
				l.wantFiles(true, test.failed == cluster.OpDeleteFile)
				l.sim.ClearFaults()
				l.converge()
				l.wantFiles(false, true)
			})
		})
	}
}

// TestManyNodesAfterAFailure lets the first of many nodes fail once. The next turn is offered every node, and has more steps than one of another object may have.
func TestManyNodesAfterAFailure(t *testing.T) {
	var nodes []string
	for i := range 15 {
		nodes = append(nodes, fmt.Sprintf("pve%d", i+1))
	}
	runLabWithPruneOn(t, nodes, func(t *testing.T, l *lab) {
		defer l.start()()
		l.ok(l.sim.Inject(pvesim.Fault{Method: http.MethodPost, Path: "/nodes/pve2/.*/download-url$", Kind: pvesim.TaskFails, Text: "no space", Times: 1}))
		l.files["image.yaml"] = isoYAML(debianSum, nodes...)
		l.push("on all nodes", alice)
		eventually(t, "the failure", func() bool { return l.imageHasReason(reason.Name(cluster.OpDownload)) })
		eventually(t, "the files", func() bool {
			if l.imageHasReason(reason.Flapping) {
				t.Fatal("got repairs that are spaced out, and nothing was repaired")
			}
			return len(l.journal.State().Downloaded) == len(nodes)
		})
		if got := l.object("Image/debian-13"); got.Sync != report.Synced {
			t.Errorf("got %+v, want the turn to end without another failure", got)
		}
		l.converge()
	})
}

// TestFileThatDisappearsAgain removes the file of an Image after each download. The downloads become less frequent, and a turn has only one of them.
func TestFileThatDisappearsAgain(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		defer l.start()()
		l.converge()
		l.sim.ResetCounters()
		spaced := false
		for range 2 * 3600 {
			time.Sleep(time.Second)
			if l.hasFile("pve1", isoVolume) {
				l.ok(l.sim.RemoveVolume(isoVolume))
			}
			spaced = spaced || l.imageHasReason(reason.Flapping)
		}
		if got := l.sim.Counters().Routes[downloads]; got < 8 || got > 14 || !spaced {
			t.Errorf("got %d downloads in two hours, spaced out %t; want about one in twelve minutes after the first two, with the condition", got, spaced)
		}
	})
}
