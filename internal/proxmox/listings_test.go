package proxmox

import (
	"errors"
	"slices"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"

	"github.com/google/go-cmp/cmp"
)

func TestListingsOnSimulator(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		for _, id := range []string{"local:iso/debian.iso", "local:vztmpl/debian.tar.zst"} {
			if err := sim.AddVolume(id, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		lists := map[string]struct {
			read func() ([]string, error)
			want []string
		}{
			"bridges": {func() ([]string, error) { return client.Bridges(t.Context(), "pve1") }, []string{"vmbr0", "vmbr1"}},
			"isos":    {func() ([]string, error) { return client.Volumes(t.Context(), "pve1", "local", "iso") }, []string{"local:iso/debian.iso"}},
			"disks":   {func() ([]string, error) { return client.Volumes(t.Context(), "pve1", "local", "images") }, []string{}},
		}
		for name, list := range lists {
			got, err := list.read()
			if diff := cmp.Diff(list.want, got); err != nil || diff != "" {
				t.Errorf("%s: got error %v, names (-want +got)\n%s", name, err, diff)
			}
		}
		if got, err := client.CPUModels(t.Context(), "pve1"); err != nil || !slices.Contains(got, "x86-64-v2-AES") {
			t.Errorf("got cpu models %v, error %v, want x86-64-v2-AES among them", got, err)
		}
		sim.SetPrivileges(simToken, []pvesim.ACL{{Path: "/vms", Privileges: []string{"VM.Audit"}}})
		if got, err := client.Volumes(t.Context(), "pve1", "local", "iso"); !errors.Is(err, cluster.ErrDenied) {
			t.Errorf("got volumes %v, error %v, want ErrDenied", got, err)
		}
		if got, err := client.Bridges(t.Context(), "pve1"); err != nil || len(got) != 0 {
			t.Errorf("got bridges %v, error %v, want none", got, err)
		}
	})
}

// A list that cannot be read is an error, never an incomplete list.
func TestListingsRejectInvalidReplies(t *testing.T) {
	for name, answer := range map[string]stubReply{
		"refused": refused("storage 'local' is not available on node 'pve1'"), "no_data": ok("null"), "no_list": ok(`{"volid":"local:iso/x"}`),
		"no_name": ok(`[{"iface":"vmbr0"}]`),
	} {
		t.Run(name, func(t *testing.T) {
			client := inProcess(t, &recorder{next: func(seen) stubReply { return answer }})
			if got, err := client.Volumes(t.Context(), "pve1", "local", "iso"); err == nil {
				t.Errorf("got %v, want an error", got)
			}
		})
	}
	client := inProcess(t, &recorder{next: func(seen) stubReply { return ok("[]") }})
	if got, err := client.Bridges(t.Context(), "../access"); err == nil {
		t.Errorf("got %v, want an error for an invalid node name", got)
	}
}
