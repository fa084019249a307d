package prerequisites

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/preflight"
)

// An offline node is not asked for its bridges and volumes. The CPU models, which every node returns, are still read.
func TestAskSkipsOfflineNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, askWithoutNode)
}

func askWithoutNode(t *testing.T) {
	sim := pvesim.New(pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}})
	defer sim.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(sim.Token("gitops@pve!agent")), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := proxmox.NewReader(proxmox.Options{Endpoints: []string{"https://pve1"}, TokenFile: token, Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	sim.StopNode("pve2")
	time.Sleep(time.Minute) // until the other nodes list it as offline
	nodes, err := reader.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bridges := func(node string) preflight.List { return preflight.List{Kind: preflight.Bridge, Node: node} }
	volumes := preflight.List{Kind: preflight.Volume, Node: "pve2", Storage: "local", Content: "iso"}
	models := preflight.List{Kind: preflight.CPU, Node: "pve2"}
	answers := ask(t.Context(), reader, []preflight.List{bridges("pve1"), bridges("pve2"), models, volumes}, nodes)
	for _, l := range []preflight.List{bridges("pve2"), volumes} {
		if got := answers[l]; !errors.Is(got.Err, errOffline) {
			t.Errorf("%v: got %v, want it left", l, got)
		}
	}
	if got := answers[bridges("pve1")]; got.Err != nil || !slices.Contains(got.Names, "vmbr0") {
		t.Errorf("got %v, want the bridges of pve1", got)
	}
	if got := answers[models]; got.Err != nil || !slices.Contains(got.Names, "host") {
		t.Errorf("got %v, want the models", got)
	}
	if asked := sim.Counters().Routes["GET /nodes/{node}/network"]; asked != 1 {
		t.Errorf("got %d questions for bridges, want 1", asked)
	}
}
