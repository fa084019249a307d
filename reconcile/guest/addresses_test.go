package guest_test

import (
	"fmt"
	"testing"

	"gitops-agent/reconcile/guest"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind guest.Kind
		keys map[string]string
		want string
	}{
		"none":                {guest.VirtualMachine, map[string]string{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"}, "[]"},
		"by the interface":    {guest.VirtualMachine, map[string]string{"ipconfig10": "ip=192.0.2.10/24", "ipconfig2": "ip6=2001:db8::2/64,ip=192.0.2.2/24"}, "[192.0.2.2 2001:db8::2 192.0.2.10]"},
		"from the network":    {guest.VirtualMachine, map[string]string{"ipconfig0": "ip=dhcp,ip6=auto", "ipconfig1": "ip=192.0.2.7/32"}, "[192.0.2.7]"},
		"container":           {guest.Container, map[string]string{"net0": "name=eth0,bridge=vmbr0,ip=192.0.2.3/24,ip6=dhcp", "net1": "name=eth1,ip=manual,ip6=2001:db8::3/64"}, "[192.0.2.3 2001:db8::3]"},
		"keys of another one": {guest.Container, map[string]string{"ipconfig0": "ip=192.0.2.3/24"}, "[]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := guest.Observed{Ref: guest.Ref{Kind: test.kind}, Keys: map[string]guest.Value{}}
			for key, text := range test.keys {
				live.Keys[key] = guest.Value{Text: text, Set: true}
			}
			if got := fmt.Sprint(guest.ValuesNow(&live).Addresses()); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A guest that was not created yet has the addresses of its manifest.
func TestAddressesOfAManifest(t *testing.T) {
	t.Parallel()
	wanted := guest.Desired{
		Ref:     guest.Ref{Kind: guest.VirtualMachine},
		Intents: []guest.Intent{{Key: "ipconfig0", Verb: guest.Want, Sub: map[string]string{"ip": "192.0.2.5/24"}}},
	}
	if got := fmt.Sprint(guest.ValuesAfter(&wanted, nil).Addresses()); got != "[192.0.2.5]" {
		t.Errorf("got %s", got)
	}
}
