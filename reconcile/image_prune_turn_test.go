package reconcile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
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
			if l.imageHasReason(plan.ConditionReason(cluster.OpDeleteFile)) {
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
				eventually(t, "the failure", func() bool { return l.imageHasReason(plan.ConditionReason(test.failed)) })
				l.wantFiles(true, test.failed == cluster.OpDeleteFile)
				l.sim.ClearFaults()
				l.converge()
				l.wantFiles(false, true)
			})
		})
	}
}
