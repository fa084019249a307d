package journalview

import (
	"testing"

	"gitops-agent/reconcile/journal"
)

func TestRecordText(t *testing.T) {
	t.Parallel()
	alice, bob := journal.Introduction{Signer: "alice", Commit: "aaa111"}, journal.Introduction{Signer: "bob", Commit: "bbb222"}
	tests := map[string]struct {
		body journal.Body
		want string
	}{
		"repeated":        {journal.Repeated{VMID: 101}, "101 may still get a call of an earlier process"},
		"repeated_over":   {journal.Repeated{VMID: 101, Over: true}, "101 has no call of an earlier process any more"},
		"flapping":        {journal.Flapping{VMID: 101, Level: 4.25}, "101 was repaired often: level 4.2"},
		"seen":            {journal.Seen{VMID: 101, Identity: "i", Keys: map[string]string{"memory": "a", "tags": "b"}}, "101 was last seen with the values of 2 keys"},
		"seen_ended":      {journal.Seen{Kind: "BackupJob", Name: "nightly"}, "BackupJob/nightly is no longer compared with what was last seen of it"},
		"flapping_object": {journal.Flapping{Kind: "BackupJob", Name: "nightly", Level: 5}, "BackupJob/nightly was repaired often: level 5.0"},
		"waited":          {journal.Waited{Step: "9c41", Seconds: 540}, "9c41 open for at least 9m0s"},
		"begun":           {journal.Begun{Step: "9c41", Op: "start", Kind: "Container", Name: "dns", VMID: 210}, "start of Container/dns (210), step 9c41"},
		"begun_image":     {journal.Begun{Step: "9c41", Op: "download", Kind: "Image", Name: "debian-13"}, "download of Image/debian-13, step 9c41"},
		"deleted":         {journal.Downloaded{Name: "debian-13", Node: "pve1", Volume: "local:iso/a.iso", Size: 5, Prune: true, Gone: true}, "Image/debian-13: local:iso/a.iso on pve1, 5 bytes, gone"},
		"to_be_deleted":   {journal.Downloaded{Name: "debian-13", Node: "pve1", Volume: "local:iso/a.iso", Size: 5, Prune: true}, "Image/debian-13: local:iso/a.iso on pve1, 5 bytes, deleted when nothing uses it"},
		"downloaded":      {journal.Downloaded{Name: "debian-13", Node: "pve1", Volume: "local:iso/a.iso", Size: 5}, "Image/debian-13: local:iso/a.iso on pve1, 5 bytes"},
		"introduced":      {journal.Introduced{Kind: "Container", Name: "dns", By: []journal.Introduction{bob, alice, bob}}, "Container/dns by alice, bob"},
		"introduced_over": {journal.Introduced{Kind: "Container", Name: "dns"}, "Container/dns by an unknown signer"},
		"rollout":         {journal.Rollout{Name: "web", Revision: "aaa111222", State: journal.RolloutPaused, Batch: 2, Batches: 11}, "Rollout/web of aaa1112 paused, batch 2 of 11"},
		"rollout_over":    {journal.Rollout{Name: "web"}, "Rollout/web is over"},
		"staged":          {journal.Staged{VMID: 210, Kind: "Container", Name: "dns", Rollout: "web", Batch: 2, Commit: "aaa111222", Tree: "t"}, "Container/dns (210) is held to aaa1112, batch 2 of Rollout/web"},
		"staged_released": {journal.Staged{VMID: 210, Kind: "Container", Name: "dns", Rollout: "web", Batch: 2, Released: true}, "Container/dns (210) is released, batch 2 of Rollout/web"},
		"placed":          {journal.Placed{VMID: 210, Kind: "Container", Name: "dns", Node: "pve2", Reason: "least memory of 3 that fit"}, "Container/dns (210) on pve2: least memory of 3 that fit"},
		"placed_over":     {journal.Placed{VMID: 210}, "210 needs no node any more"},
		"policy":          {journal.PolicyInForce{Name: "two-nics", File: "web/p.yaml", When: "true", Result: "deny"}, "Policy/two-nics of web/p.yaml is in force: deny"},
		"policy_over":     {journal.PolicyInForce{Name: "two-nics"}, "Policy/two-nics is over"},
		"left":            {journal.Left{VMID: 210, Files: []string{"web/a.yaml"}}, "210 is also under the policies that apply to web/a.yaml"},
		"left_over":       {journal.Left{VMID: 210}, "210 is under the policies of its folder alone"},
		"staged_over":     {journal.Staged{VMID: 210}, "(210) has the revision in force"},
		"restart":         {journal.IneffectiveRestart{VMID: 101, StepDigest: "d19e57", Over: true}, "101 may be restarted again, digest d19e57"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := recordText(tt.body); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
