package proxmox

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// TestPingAgent asks the guest agents of a simulated cluster. An agent whose administrator has blocked the command runs.
func TestPingAgent(t *testing.T) {
	t.Parallel()
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		for vmid, config := range map[int]string{101: "agent: 1\n", 102: "agent: 1\n", 103: "", 104: "agent: 1\n"} {
			if _, err := sim.AddVM(pvesim.Guest{VMID: vmid, Node: "pve1", Config: config, Running: vmid != 104}); err != nil {
				t.Fatal(err)
			}
		}
		if err := sim.IgnoreShutdown(102); err != nil {
			t.Fatal(err)
		}
		for vmid, want := range map[int]string{101: "", 102: "QEMU guest agent is not running", 103: "No QEMU guest agent configured", 104: "is not running", 105: "does not exist"} {
			err := client.PingAgent(t.Context(), cluster.Row{Kind: guest.VirtualMachine, VMID: vmid, Node: "pve1"})
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%d: got error %v, want %q", vmid, err, want)
			}
		}
		sim.SetPrivileges(simToken, []pvesim.ACL{{Path: "/", Privileges: []string{"VM.Audit"}}})
		err := client.PingAgent(t.Context(), cluster.Row{Kind: guest.VirtualMachine, VMID: 101, Node: "pve1"})
		if !errors.Is(err, cluster.ErrDenied) || !strings.Contains(err.Error(), "VM.GuestAgent.Audit") {
			t.Errorf("without the privilege: got error %v, want ErrDenied that names it", err)
		}
	})
}

// TestSilentAgentAsksOneEndpoint counts the requests for an agent that does not answer. Each would occupy a worker of the node for three seconds, and
// a late answer is no fault of the endpoint. An endpoint that does not work is passed over.
func TestSilentAgentAsksOneEndpoint(t *testing.T) {
	t.Parallel()
	silent := raw(500, "QEMU guest agent is not running", "")
	for name, test := range map[string]struct {
		first string
		asked []int64
	}{
		"silent": {silent, []int64{2, 0, 0}},
		"broken": {raw(503, "Service Unavailable", ""), []int64{2, 2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counts := make([]atomic.Int64, 3)
			var urls []string
			for i, text := range []string{test.first, silent, silent} {
				urls = append(urls, rawServer(t, func(*http.Request) string {
					counts[i].Add(1)
					return text
				}).URL)
			}
			client := newClient(t, Options{Endpoints: urls, Timeout: time.Minute})
			for range 2 {
				if err := client.PingAgent(t.Context(), vmRow); err == nil || !strings.Contains(err.Error(), "QEMU guest agent is not running") {
					t.Errorf("got error %v, want that the agent is not running", err)
				}
			}
			for i := range counts {
				if got := counts[i].Load(); got != test.asked[i] {
					t.Errorf("endpoint %d: got %d requests, want %d", i, got, test.asked[i])
				}
			}
			for _, e := range client.Endpoints() {
				if e.State == cluster.EndpointDown && name == "silent" {
					t.Errorf("got endpoint %s down, want a silent guest to be no fault of it", e.Address)
				}
			}
		})
	}
}
