package plan

import (
	"fmt"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// TestGuardIsWrittenAlone plans every change of the protection together with changes that Proxmox may refuse. No call has both: Proxmox keeps the part of a refused
// call that it has worked off, so that the protection would end, or would not begin, without the rest.
func TestGuardIsWrittenAlone(t *testing.T) {
	t.Parallel()
	others := []guest.Change{
		{Key: "memory", Class: guest.Live, Write: guest.WriteSet, Value: "4096"},
		{Key: "cores", Class: guest.Restart, Write: guest.WriteSet, Value: "4"},
		{Key: "description", Class: guest.Live, Write: guest.WriteDelete},
		{Key: "net0", Class: guest.Disruptive, Write: guest.WriteSet, Value: "virtio,bridge=vmbr1"},
		{Key: "scsi1", Class: guest.Disruptive, Write: guest.WriteDelete, Guarded: true},
		{Key: "scsi2", Class: guest.Destructive, Write: guest.WriteDelete, Guarded: true},
		{Key: "scsi3", Class: guest.Live, Write: guest.WriteSet, Value: "local:8", LeavesBackups: "scsi3"},
		{Key: "cipassword", Class: guest.Live, Write: guest.WriteSecret, Value: "secret"},
	}
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		for _, status := range []guest.Status{guest.StatusRunning, guest.StatusStopped} {
			for _, before := range []string{"", "0", "1"} {
				for _, change := range []guest.Change{
					{Key: "protection", Class: guest.Live, Write: guest.WriteSet, Value: "1"},
					{Key: "protection", Class: guest.Disruptive, Write: guest.WriteSet, Value: "0"},
					{Key: "protection", Class: guest.Disruptive, Write: guest.WriteDelete},
				} {
					ref := guest.Ref{Kind: kind, Name: "web-1", VMID: 201}
					live := guest.Observed{Ref: ref, Node: "pve1", Status: status, Keys: map[string]guest.Value{}}
					if before != "" {
						live.Keys["protection"] = guest.Value{Text: before, Set: true}
					}
					steps := configSteps(Guest{Ref: ref, Changes: append([]guest.Change{change}, others...)}, &guest.Desired{Ref: ref}, live)
					name := fmt.Sprintf("%s %s with protection %q: %s %s", kind, status, before, change.Write, change.Value)
					checkGuardAlone(t, name, steps, change.Value == "1")
				}
			}
		}
	}
}

// checkGuardAlone checks that a call that changes the protection changes nothing else, and that its begin comes before every other call.
func checkGuardAlone(t *testing.T, name string, steps []Step, begins bool) {
	t.Helper()
	written := map[string]int{}
	for i, step := range steps {
		for j, call := range step.Calls {
			if call.Op != cluster.OpConfig {
				continue
			}
			keys := append([]string(nil), call.Delete...)
			for key := range call.Params {
				keys = append(keys, key)
			}
			for key := range call.Secrets {
				keys = append(keys, key)
			}
			for _, key := range keys {
				if written[key]++; key == "protection" && len(keys) > 1 {
					t.Errorf("%s: got call %d of step %d with %v, want the protection alone", name, j+1, i+1, keys)
				}
			}
			if begins && i+j == 0 && keys[0] != "protection" && !step.Protected {
				t.Errorf("%s: got %v first, want the begin of the protection", name, keys)
			}
		}
	}
	for _, key := range []string{"protection", "memory", "cores", "description", "net0", "scsi1", "scsi2", "scsi3", "cipassword"} {
		if written[key] == 0 {
			t.Errorf("%s: got no call with %s", name, key)
		}
	}
}
