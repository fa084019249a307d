package proxmox

import (
	"slices"
	"testing"

	"gitops-agent/internal/pvesim"
)

func TestPoolsOnSimulator(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		sim.AddPool("prod", "")
		got, err := client.Pools(t.Context())
		if err != nil || !slices.Contains(got, "prod") {
			t.Errorf("got pools %v, %v, want prod among them", got, err)
		}
	})
}
