package reconcile

import (
	"errors"
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"

	"github.com/google/go-cmp/cmp"
)

var webPassword = guest.Secret{Key: "cipassword", File: "web", Origin: guest.Origin{File: "web.yaml", Line: 7, Column: 5}}

func wantPassword() guest.Desired {
	d := wantWeb(memory("2048"))
	d.Secrets = []guest.Secret{webPassword}
	return d
}

// wantGiven is a wish for web-1's password, which now has the given fingerprint, and had the last one when it was sent.
func wantGiven(now SecretNow, last string) Desired {
	want := Desired{
		Cluster: "home", Revision: "main@sha1:0", Guests: []guest.Desired{wantPassword()}, Owned: map[int]journal.Owned{201: owned201()},
		Secrets: map[SecretPlace]SecretNow{{201, "cipassword"}: now},
	}
	if last != "" {
		want.Applied = map[int]journal.Applied{201: {
			VMID: 201, Identity: owned201().Identity, Fingerprints: map[string]string{"cipassword": last},
		}}
	}
	return want
}

func seeing(live guest.Observed) Observed {
	return Observed{Guests: map[int]guest.Observed{live.VMID: live}}
}

func TestPlanGivesSecrets(t *testing.T) {
	stopped := liveWeb(guest.StatusStopped, "cipassword", "**********")
	bare := liveWeb(guest.StatusStopped)
	windows := liveWeb(guest.StatusStopped, "cipassword", "**********", "ostype", "win11")
	missing := SecretNow{Problem: &SecretError{Name: "web", Reason: "no such file", Hint: "make it"}}
	another := wantGiven(SecretNow{Fingerprint: "f1", Form: SecretPlain}, "f1")
	another.Applied[201] = journal.Applied{VMID: 201, Identity: "another guest's", Fingerprints: map[string]string{"cipassword": "f1"}}
	ignored := wantGiven(SecretNow{Fingerprint: "f2", Form: SecretPlain}, "f1")
	ignored.Guests[0].Ignore = []string{"cipassword"}
	unread := wantGiven(SecretNow{}, "f1")
	unread.Secrets = nil
	starts := wantGiven(missing, "")
	starts.Guests[0].State = guest.Running
	restarts := wantGiven(missing, "f1")
	restarts.Guests[0].State = guest.Running
	becomesWindows := wantGiven(SecretNow{Fingerprint: "f2", Form: SecretPlain}, "f1")
	becomesWindows.Guests[0].Intents = append(becomesWindows.Guests[0].Intents, guest.Intent{Key: "ostype", Verb: guest.Want, Text: "win11"})
	tests := map[string]struct {
		want    Desired
		live    guest.Observed
		secrets map[string]string // of the first step
		steps   int
		reason  string // of the condition
	}{
		"the_same":          {wantGiven(SecretNow{Fingerprint: "f1", Form: SecretPlain}, "f1"), stopped, nil, 0, ""},
		"rotated":           {wantGiven(SecretNow{Fingerprint: "f2", Form: SecretPlain}, "f1"), stopped, map[string]string{"cipassword": "web"}, 1, ""},
		"never_given":       {wantGiven(SecretNow{Fingerprint: "f1", Form: SecretPlain}, ""), stopped, map[string]string{"cipassword": "web"}, 1, ""},
		"lost_on_the_guest": {wantGiven(SecretNow{Fingerprint: "f1", Form: SecretPlain}, "f1"), bare, map[string]string{"cipassword": "web"}, 1, ""},
		"other_guest":       {another, stopped, map[string]string{"cipassword": "web"}, 1, ""},
		"ignored":           {ignored, stopped, nil, 0, ""},
		"nobody_looked":     {unread, stopped, nil, 0, ""},
		"missing_file":      {wantGiven(missing, "f1"), stopped, nil, 0, "secret"},
		"hash_for_windows":  {wantGiven(SecretNow{Fingerprint: "f2", Form: SecretHash}, "f1"), windows, nil, 0, "secret"},
		"windows":           {wantGiven(SecretNow{Fingerprint: "f2", Form: SecretPlain}, "f1"), windows, map[string]string{"cipassword": "web"}, 1, ""},
		"becomes_windows":   {becomesWindows, stopped, nil, 1, ""},
		"not_started_bare":  {starts, stopped, nil, 0, "no-secret"},
		"started_again":     {restarts, stopped, nil, 1, "secret"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := NewPlan(test.want, seeing(test.live)).Guests[0]
			if len(p.Steps) != test.steps {
				t.Fatalf("got steps %+v, want %d", p.Steps, test.steps)
			}
			var secrets map[string]string
			if test.steps > 0 {
				secrets = p.Steps[0].Calls[0].Secrets
			}
			if diff := cmp.Diff(test.secrets, secrets); diff != "" {
				t.Errorf("secrets of the call (-want +got):\n%s", diff)
			}
			reason := ""
			if len(p.Conditions) > 0 {
				reason = p.Conditions[0].Reason
			}
			if reason != test.reason {
				t.Errorf("got conditions %+v, want %q", p.Conditions, test.reason)
			}
		})
	}
}

// A guest is not made without the password that it is to have from its first boot.
func TestPlanCreatesWithSecrets(t *testing.T) {
	d := wantPassword()
	d.Source = guest.Source{Blank: true}
	gone := Observed{Absent: map[int]Absence{201: Gone}}
	want := Desired{Cluster: "home", Guests: []guest.Desired{d}, Secrets: map[SecretPlace]SecretNow{{201, "cipassword"}: {Fingerprint: "f1", Form: SecretPlain}}}
	p := NewPlan(want, gone).Guests[0]
	if len(p.Steps) != 1 || p.Steps[0].Calls[0].Secrets["cipassword"] != "web" {
		t.Errorf("got steps %+v, want a creation that carries the secret", p.Steps)
	}
	want.Secrets[SecretPlace{VMID: 201, Key: "cipassword"}] = SecretNow{Problem: &SecretError{Name: "web", Reason: "no such file"}}
	if p := NewPlan(want, gone).Guests[0]; len(p.Steps) != 0 || len(p.Conditions) != 1 || p.Conditions[0].Reason != "no-secret" {
		t.Errorf("got steps %+v and conditions %+v, want nothing made and the reason", p.Steps, p.Conditions)
	}
}

func TestAfterGiving(t *testing.T) {
	record := func(identity string, fingerprints map[string]string) journal.Applied {
		return journal.Applied{VMID: 201, Identity: identity, Fingerprints: fingerprints}
	}
	mine := owned201().Identity
	config, create := journal.Begun{VMID: 201, Op: string(OpConfig)}, journal.Begun{VMID: 201, Op: string(OpCreate)}
	tests := map[string]struct {
		begun  journal.Begun
		c      conclusion
		before []journal.Applied
		want   []journal.Body
	}{
		"nothing_given":     {config, conclusion{result: journal.Done}, []journal.Applied{record(mine, map[string]string{"a": "1"})}, nil},
		"first":             {config, conclusion{result: journal.Done, given: map[string]string{"a": "1"}}, nil, []journal.Body{record(mine, map[string]string{"a": "1"})}},
		"another_key_stays": {config, conclusion{result: journal.Done, given: map[string]string{"b": "2"}}, []journal.Applied{record(mine, map[string]string{"a": "1"})}, []journal.Body{record(mine, map[string]string{"a": "1", "b": "2"})}},
		"of_another_guest":  {config, conclusion{result: journal.Done, given: map[string]string{"b": "2"}}, []journal.Applied{record("x", map[string]string{"a": "1"})}, []journal.Body{record(mine, map[string]string{"b": "2"})}},
		"later_call_failed": {config, conclusion{result: journal.Failed, given: map[string]string{"a": "1"}}, nil, []journal.Body{record(mine, map[string]string{"a": "1"})}},
		"made_anew":         {create, conclusion{result: journal.Done}, []journal.Applied{record(mine, map[string]string{"a": "1"})}, []journal.Body{record(mine, map[string]string{})}},
		"creation_failed":   {create, conclusion{result: journal.Failed}, []journal.Applied{record(mine, map[string]string{"a": "1"})}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			state := journal.State{Owned: map[int]journal.Owned{201: owned201()}, Applied: map[int]journal.Applied{}}
			for _, b := range test.before {
				state.Applied[201] = b
			}
			if diff := cmp.Diff(test.want, afterGiving(test.begun, test.c, state)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// heldIn is a vault with secrets by name.
func heldIn(contents map[string]string, key string) (*vault, *int) {
	reads := 0
	return newVault(Secrets{Key: []byte(key), Read: func(name string) (string, error) {
		reads++
		content, ok := contents[name]
		if !ok {
			return "", errors.New("no such file")
		}
		return content, nil
	}}, "home"), &reads
}

func TestVaultReadsASecretOnce(t *testing.T) {
	v, reads := heldIn(map[string]string{"web": "hunter2"}, "k")
	guests := make([]guest.Desired, 500)
	for i := range guests {
		guests[i] = guest.Desired{Ref: guest.Ref{VMID: 200 + i}, Secrets: []guest.Secret{webPassword}}
	}
	places := v.look(guests)
	fingerprints := map[string]bool{}
	for _, now := range places {
		fingerprints[now.Fingerprint] = true
	}
	if len(fingerprints) != 500 {
		t.Errorf("got %d fingerprints of one secret in 500 guests, want one each: the journal must not tell who shares a password", len(fingerprints))
	}
	if *reads != 1 {
		t.Errorf("got %d reads, want 1", *reads)
	}
	if again := v.look(guests); !cmp.Equal(places, again) {
		t.Error("got other fingerprints at the second look, want the same")
	}
}

func TestVaultTellsForms(t *testing.T) {
	const short, long = "$6$saltsalt$abcdefgh", "$6$rounds=10000$saltsalt$abcdefgh"
	contents := map[string]string{
		"plain": "hunter2", "dollar": "$ecret", "short": short, "long": long, "yescrypt": "$y$j9T$abc$def", "bcrypt_b": "$2b$12$abc", "endless": string(make([]byte, 512)),
	}
	want := map[string]SecretForm{"plain": SecretPlain, "dollar": SecretPlain, "short": SecretHash, "long": SecretLongHash, "yescrypt": "", "bcrypt_b": "", "endless": "", "gone": ""}
	v, _ := heldIn(contents, "k")
	for name, form := range want {
		_, now := v.open(name)
		if now.Form != form || (now.Problem == nil) != (form != "") {
			t.Errorf("%s: got form %q and %v, want %q", name, now.Form, now.Problem, form)
		}
	}
	if _, now := newVault(Secrets{}, "home").open("plain"); now.Problem == nil || now.Problem.Hint == "" {
		t.Errorf("got %+v without a directory, want a problem that tells what to do", now)
	}
}

// fillOne returns what a call for one secret of web-1 sends.
func fillOne(t *testing.T, v *vault, vmid int, file, ostype string) string {
	t.Helper()
	step := []Call{{Op: OpConfig, Kind: guest.VirtualMachine, VMID: vmid, Params: map[string]string{"memory": "1"}, Secrets: map[string]string{"cipassword": file}}}
	calls, err := v.fill(step, ostype)
	if err != nil {
		t.Fatal(err)
	}
	if len(step[0].Params) != 1 {
		t.Errorf("got %v in the step, want its secret left out", step[0].Params)
	}
	return calls[0].call.Params["cipassword"]
}

func TestVaultHashesTheSameWay(t *testing.T) {
	contents := map[string]string{"web": "hunter2", "also": "hunter2", "hash": "$6$saltsalt$abcdefgh"}
	v, _ := heldIn(contents, "k")
	other, _ := heldIn(contents, "another key")
	first := fillOne(t, v, 201, "web", "l26")
	if again := fillOne(t, v, 201, "web", ""); again != first || !shortHash.MatchString(first) || first[:3] != "$6$" {
		t.Errorf("got %s and then %s, want the same hash of a kind that Proxmox knows", first, again)
	}
	for name, text := range map[string]string{
		"guest": fillOne(t, v, 202, "web", "l26"), "name": fillOne(t, v, 201, "also", "l26"), "agent": fillOne(t, other, 201, "web", "l26"),
	} {
		if text == first {
			t.Errorf("got the same salt for another %s, want another", name)
		}
	}
	if got := fillOne(t, v, 201, "web", "win11"); got != "hunter2" {
		t.Errorf("got %s for Windows, want the password itself", got)
	}
	if got := fillOne(t, v, 201, "hash", "l26"); got != contents["hash"] {
		t.Errorf("got %s, want the hash as it is", got)
	}
	if _, err := v.fill([]Call{{Kind: guest.VirtualMachine, VMID: 201, Secrets: map[string]string{"cipassword": "gone"}}}, ""); err == nil {
		t.Error("got no error for a secret that is gone, want the call not made")
	}
}
