package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

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
