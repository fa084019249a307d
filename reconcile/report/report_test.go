package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

func TestNewChangeHidesSecrets(t *testing.T) {
	t.Parallel()
	origin := guest.Origin{File: "web.yaml", Line: 12, Column: 5}
	tests := map[string]struct {
		change   guest.Change
		from, to string
	}{
		"plain":         {guest.Change{Key: "memory", From: "2048", To: "4096"}, "2048", "4096"},
		"written":       {guest.Change{Key: "description", Write: guest.WriteSecret, From: "hunter2", To: "hunter3"}, report.Concealed, report.Concealed},
		"by_key":        {guest.Change{Key: "cipassword", Write: guest.WriteSet, From: "hunter2", To: "hunter3"}, report.Concealed, report.Concealed},
		"of_containers": {guest.Change{Key: "password", To: "hunter2"}, "", report.Concealed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.change.Class, test.change.Note, test.change.Waits, test.change.Origin = guest.Restart, "restart needed", true, origin
			want := report.Change{
				Key: test.change.Key, From: test.from, To: test.to, Class: guest.Restart, Note: "restart needed", Waits: true, Origin: "web.yaml:12:5",
			}
			if got := report.NewChange(test.change); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// The name, the hold and the report are embedded: their fields stand beside the fields of the struct that contains them.
func TestDocumentIsFlat(t *testing.T) {
	t.Parallel()
	hold := report.NewHold(gate.Verdict{Held: true, Reason: reason.Approval, Message: "it restarts the guest", Hint: "gitops-agent approve 1f"})
	g := report.Guest{
		GuestName: report.NewGuestName(guest.Ref{Kind: guest.Container, Name: "dns-1", VMID: 201}, "pve1"), Held: []report.HeldStep{{Op: "reboot", Hold: hold}},
	}
	text, err := json.Marshal(report.NewDocument(report.Report{Cluster: "home", Guests: []report.Guest{g}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"schemaVersion":1,"time":`, `"cluster":"home"`, `"unmanaged":[]`, `[{"kind":"Container","name":"dns-1","vmid":201,"node":"pve1","managed":false,`,
		`"held":[{"op":"reboot","class":"","reason":"approval","message":"it restarts the guest","hint":"gitops-agent approve 1f","since":`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("got no %s in %s", want, text)
		}
	}
	if got, want := g.Label(), "Container/dns-1"; got != want {
		t.Errorf("got label %q, want %q", got, want)
	}
}
