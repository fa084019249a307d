package guest_test

import (
	"testing"

	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
)

func TestUnused(t *testing.T) {
	o := guest.Observed{Keys: map[string]guest.Value{
		"scsi0": {Text: "local:201/a.raw", Set: true}, "unused1": {Text: "local:201/c.raw", Set: true}, "unused0": {Text: "local:201/b.raw", Set: true},
		"unusedness": {Text: "x", Set: true},
	}}
	if diff := cmp.Diff([]string{"unused0=local:201/b.raw", "unused1=local:201/c.raw"}, guest.UnusedVolumes(o)); diff != "" {
		t.Errorf("volumes differ (-want +got):\n%s", diff)
	}
}
