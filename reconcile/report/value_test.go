package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

func TestNewValues(t *testing.T) {
	t.Parallel()
	at := guest.Origin{File: "web.yaml", Line: 12, Column: 5}
	next := "4096"
	d := &guest.Desired{
		Intents: []guest.Intent{
			{Key: "memory", Verb: guest.Want, Text: "4096", Origin: at},
			{Key: "net0", Verb: guest.Want, Sub: map[string]string{"tag": "20", "bridge": "vmbr0"}, Origin: at},
			{Key: "scsi1", Verb: guest.Absent, Origin: at},
			{Key: "password", Verb: guest.Want, Text: "hunter2", Origin: at},
		},
		Secrets: []guest.Secret{{Key: "cipassword", File: "web", Origin: at}},
	}
	live := guest.Observed{Keys: map[string]guest.Value{
		"memory": {Text: "2048", Set: true, Pending: &next}, "cores": {Text: "2", Set: true, Delete: true}, "cipassword": {Text: "hunter2", Set: true},
		"net0": {Text: "virtio=02:00:00:00:00:01,bridge=vmbr0", Set: true},
	}}
	want := []report.Value{
		{Key: "cipassword", Desired: report.Concealed, Live: report.Concealed, Origin: "web.yaml:12:5"},
		{Key: "cores", Live: "2", Waits: true},
		{Key: "memory", Desired: "4096", Live: "2048", Next: "4096", Waits: true, Differs: true, Origin: "web.yaml:12:5"},
		{Key: "net0", Desired: "bridge=vmbr0,tag=20", Live: "virtio=02:00:00:00:00:01,bridge=vmbr0", Origin: "web.yaml:12:5"},
		{Key: "password", Desired: report.Concealed, Origin: "web.yaml:12:5"},
		{Key: "scsi1", Absent: true, Origin: "web.yaml:12:5"},
	}
	if diff := cmp.Diff(want, report.NewValues(d, live, []report.Change{{Key: "memory"}})); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if got := report.NewValues(nil, live, nil); len(got) != 4 || got[2].Desired != "" {
		t.Errorf("got %+v, want the live keys alone", got)
	}
}
