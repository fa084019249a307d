package secret

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
)

// heldIn returns a vault with secrets by name.
func heldIn(contents map[string]string, key string) (*Vault, *int) {
	reads := 0
	return NewVault(Source{Key: []byte(key), Read: func(name string) (string, error) {
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
		guests[i] = guest.Desired{Ref: guest.Ref{VMID: 200 + i}, Secrets: []guest.Secret{fixture.WebPassword}}
	}
	places := v.States(guests)
	fingerprints := map[string]bool{}
	for place, now := range places {
		if place.Key == KeyName {
			continue
		}
		fingerprints[now.Fingerprint] = true
	}
	if len(fingerprints) != 500 {
		t.Errorf("got %d fingerprints of one secret in 500 guests, want one each: the journal must not show which guests share a password", len(fingerprints))
	}
	if *reads != 1 {
		t.Errorf("got %d reads, want 1", *reads)
	}
	if again := v.States(guests); !cmp.Equal(places, again) {
		t.Error("got other fingerprints at the second read, want the same")
	}
}

func TestVaultDistinguishesForms(t *testing.T) {
	const short, long = "$6$saltsalt$abcdefgh", "$6$rounds=10000$saltsalt$abcdefgh"
	contents := map[string]string{
		"plain": "hunter2", "dollar": "$ecret", "short": short, "long": long, "yescrypt": "$y$j9T$abc$def", "bcrypt_b": "$2b$12$abc", "endless": string(make([]byte, 512)),
	}
	want := map[string]Form{"plain": Plain, "dollar": Plain, "short": Hash, "long": LongHash, "yescrypt": "", "bcrypt_b": "", "endless": "", "gone": ""}
	v, _ := heldIn(contents, "k")
	for name, form := range want {
		_, now := v.open(guest.Secret{File: name})
		if now.Form != form || (now.Problem == nil) != (form != "") {
			t.Errorf("%s: got form %q and %v, want %q", name, now.Form, now.Problem, form)
		}
	}
	if _, now := NewVault(Source{}, "home").open(guest.Secret{File: "plain"}); now.Problem == nil || now.Problem.Hint == "" {
		t.Errorf("got %+v without a directory, want a problem with a hint", now)
	}
}

// fillOne returns the text that a call with one secret of web-1 sends.
func fillOne(t *testing.T, v *Vault, vmid int, file, ostype string) string {
	t.Helper()
	step := []cluster.Call{{Op: cluster.OpConfig, Kind: guest.VirtualMachine, VMID: vmid, Params: map[string]string{"memory": "1"}, Secrets: map[string]string{"cipassword": file}}}
	calls, err := v.Fill(step, nil, ostype)
	if err != nil {
		t.Fatal(err)
	}
	if len(step[0].Params) != 1 {
		t.Errorf("got %v in the step, want no content of a secret", step[0].Params)
	}
	return calls[0].Call.Params["cipassword"]
}

func TestVaultHashesTheSameWay(t *testing.T) {
	contents := map[string]string{"web": "hunter2", "also": "hunter2", "hash": "$6$saltsalt$abcdefgh"}
	v, _ := heldIn(contents, "k")
	other, _ := heldIn(contents, "another key")
	first := fillOne(t, v, 201, "web", "l26")
	if again := fillOne(t, v, 201, "web", ""); again != first || !shortHash().MatchString(first) || first[:3] != "$6$" {
		t.Errorf("got %s and then %s, want the same hash of a kind that Proxmox supports", first, again)
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
		t.Errorf("got %s, want the hash unchanged", got)
	}
	if _, err := v.Fill([]cluster.Call{{Kind: guest.VirtualMachine, VMID: 201, Secrets: map[string]string{"cipassword": "gone"}}}, nil, ""); err == nil {
		t.Error("got no error for a missing secret, want an error and no call")
	}
}
