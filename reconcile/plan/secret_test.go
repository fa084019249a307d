package plan

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/secret"

	"github.com/google/go-cmp/cmp"
)

func wantPassword() guest.Desired {
	d := fixture.WantWeb(fixture.MemoryIntent("2048"))
	d.Secrets = []guest.Secret{fixture.WebPassword}
	return d
}

// wantGiven returns the desired state of web-1 with a password in state now. Last is the fingerprint of the password that was sent last.
func wantGiven(now secret.State, last string) Desired {
	want := Desired{
		Cluster: "home", Revision: "main@sha1:0", Guests: []guest.Desired{wantPassword()}, Owned: map[int]journal.Owned{201: fixture.Owned201()},
		Secrets: map[secret.Place]secret.State{{VMID: 201, Key: "cipassword"}: now},
	}
	if last != "" {
		want.Applied = map[int]journal.Applied{201: {
			VMID: 201, Identity: fixture.Owned201().Identity, Fingerprints: map[string]string{"cipassword": last},
		}}
	}
	return want
}

func seeing(live guest.Observed) cluster.Snapshot {
	return cluster.Snapshot{Guests: map[int]guest.Observed{live.VMID: live}}
}

func TestPlanSendsSecrets(t *testing.T) {
	stopped := fixture.LiveWeb(guest.StatusStopped, "cipassword", "**********")
	bare := fixture.LiveWeb(guest.StatusStopped)
	windows := fixture.LiveWeb(guest.StatusStopped, "cipassword", "**********", "ostype", "win11")
	missing := secret.State{Problem: &secret.Error{Name: "web", Reason: "no such file", Hint: "make it"}}
	another := wantGiven(secret.State{Fingerprint: "f1", Form: secret.Plain}, "f1")
	another.Applied[201] = journal.Applied{VMID: 201, Identity: "another guest's", Fingerprints: map[string]string{"cipassword": "f1"}}
	ignored := wantGiven(secret.State{Fingerprint: "f2", Form: secret.Plain}, "f1")
	ignored.Guests[0].Ignore = []string{"cipassword"}
	unread := wantGiven(secret.State{}, "f1")
	unread.Secrets = nil
	starts := wantGiven(missing, "")
	starts.Guests[0].State = guest.Running
	restarts := wantGiven(missing, "f1")
	restarts.Guests[0].State = guest.Running
	becomesWindows := wantGiven(secret.State{Fingerprint: "f2", Form: secret.Plain}, "f1")
	becomesWindows.Guests[0].Intents = append(becomesWindows.Guests[0].Intents, guest.Intent{Key: "ostype", Verb: guest.Want, Text: "win11"})
	tests := map[string]struct {
		want    Desired
		live    guest.Observed
		secrets map[string]string // of the first step
		steps   int
		reason  reason.Name // of the condition
	}{
		"the_same":          {wantGiven(secret.State{Fingerprint: "f1", Form: secret.Plain}, "f1"), stopped, nil, 0, ""},
		"rotated":           {wantGiven(secret.State{Fingerprint: "f2", Form: secret.Plain}, "f1"), stopped, map[string]string{"cipassword": "web"}, 1, ""},
		"never_given":       {wantGiven(secret.State{Fingerprint: "f1", Form: secret.Plain}, ""), stopped, map[string]string{"cipassword": "web"}, 1, ""},
		"lost_on_the_guest": {wantGiven(secret.State{Fingerprint: "f1", Form: secret.Plain}, "f1"), bare, map[string]string{"cipassword": "web"}, 1, ""},
		"other_guest":       {another, stopped, map[string]string{"cipassword": "web"}, 1, ""},
		"ignored":           {ignored, stopped, nil, 0, ""},
		"not_read":          {unread, stopped, nil, 0, ""},
		"missing_file":      {wantGiven(missing, "f1"), stopped, nil, 0, reason.Secret},
		"hash_for_windows":  {wantGiven(secret.State{Fingerprint: "f2", Form: secret.Hash}, "f1"), windows, nil, 0, reason.Secret},
		"windows":           {wantGiven(secret.State{Fingerprint: "f2", Form: secret.Plain}, "f1"), windows, map[string]string{"cipassword": "web"}, 1, ""},
		"becomes_windows":   {becomesWindows, stopped, nil, 1, ""},
		"not_started_bare":  {starts, stopped, nil, 1, reason.Secret},
		"started_again":     {restarts, stopped, nil, 1, reason.Secret},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := New(test.want, seeing(test.live)).Guests[0]
			if len(p.Steps) != test.steps {
				t.Fatalf("got steps %+v, want %d", p.Steps, test.steps)
			}
			if test.steps > 0 && p.Steps[0].Hindrance.IsSet() != (name == "not_started_bare") {
				t.Errorf("got the step hindered by %+v", p.Steps[0].Hindrance)
			}
			var secrets map[string]string
			if test.steps > 0 {
				secrets = p.Steps[0].Calls[0].Secrets
			}
			if diff := cmp.Diff(test.secrets, secrets); diff != "" {
				t.Errorf("secrets of the call (-want +got):\n%s", diff)
			}
			reason := reason.Name("")
			if len(p.Conditions) > 0 {
				reason = p.Conditions[0].Reason
			}
			if reason != test.reason {
				t.Errorf("got conditions %+v, want %q", p.Conditions, test.reason)
			}
		})
	}
}

// A guest is not created without the password that its first boot needs.
func TestPlanCreatesWithSecrets(t *testing.T) {
	d := wantPassword()
	d.Source = guest.Source{Blank: true}
	gone := cluster.Snapshot{Absent: map[int]cluster.Absence{201: cluster.Gone}}
	want := Desired{Cluster: "home", Guests: []guest.Desired{d}, Secrets: map[secret.Place]secret.State{{VMID: 201, Key: "cipassword"}: {Fingerprint: "f1", Form: secret.Plain}}}
	p := New(want, gone).Guests[0]
	if len(p.Steps) != 1 || p.Steps[0].Calls[0].Secrets["cipassword"] != "web" {
		t.Errorf("got steps %+v, want a create with the secret", p.Steps)
	}
	want.Secrets[secret.Place{VMID: 201, Key: "cipassword"}] = secret.State{Problem: &secret.Error{Name: "web", Reason: "no such file"}}
	if p := New(want, gone).Guests[0]; len(p.Steps) != 0 || len(p.Conditions) != 1 || p.Conditions[0].Reason != reason.Secret {
		t.Errorf("got steps %+v and conditions %+v, want no step and the reason", p.Steps, p.Conditions)
	}
}
