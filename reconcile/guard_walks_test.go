package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/reason"
)

// TestWalksAroundGuards pushes changes that reach what a guard protects without its own line, by a signer without approvals. Each waits, and what the guard protects stays in the cluster.
func TestWalksAroundGuards(t *testing.T) {
	t.Parallel()
	type files = map[string]string
	job := func(name, spec string) string { return objectYAML("BackupJob", name, "schedule: daily, "+spec) }
	const nightly, second = "storage: local, guests: {vmids: [201]}, retention: {keepLast: 9}", "storage: local-lvm, guests: {vmids: [201]}, retention: {keepLast: 1}"
	wall := func(lines ...string) string {
		return vmYAML("web-1", 201, append([]string{
			"networks: {net0: {bridge: vmbr0, firewall: true}}", "firewall:", "  guarded: true", "  enable: true", "  rules: [{type: in, action: ACCEPT, source: office}]",
		}, lines...)...)
	}
	office := func(cidr string) string { return objectYAML("Alias", "office", "cidr: "+cidr) }
	hasJob := func(id, words string) func(l *lab) bool {
		return func(l *lab) bool {
			keys := l.sim.BackupJob(id)
			return keys != nil && strings.Contains(keys["storage"]+" "+keys["vmid"]+" "+keys["enabled"]+" "+keys["prune-backups"]+" "+keys["schedule"], words)
		}
	}
	tests := map[string]struct {
		before, after files
		label         string // of what has a held step
		stays         func(l *lab) bool
	}{
		"disabled_job_is_enabled": {
			files{"second.yaml": job("second", strings.Replace(second, "local-lvm", "local", 1)+", enabled: false")},
			files{"second.yaml": job("second", strings.Replace(second, "local-lvm", "local", 1)+", enabled: true")},
			"BackupJob/second", hasJob("second", "201 0 "),
		},
		"job_moves_to_the_storage": {
			files{"second.yaml": job("second", second)}, files{"second.yaml": job("second", strings.Replace(second, "local-lvm", "local", 1))}, "BackupJob/second", hasJob("second", "local-lvm"),
		},
		"two_jobs_leave_together": {
			files{"second.yaml": job("second", strings.Replace(second, "keepLast: 1", "keepLast: 9", 1))},
			files{
				"second.yaml": job("second", "storage: local-lvm, guests: {vmids: [202]}, retention: {keepLast: 9}"),
				"job.yaml":    job("nightly", "storage: local, guests: {vmids: [202]}, retention: {keepLast: 9}"),
			},
			"BackupJob/nightly", func(l *lab) bool { return hasJob("nightly", "201")(l) && hasJob("second", "201")(l) },
		},
		"job_gets_another_name": {
			nil,
			files{"job.yaml": job("weekly", strings.Replace(nightly, "keepLast: 9", "keepLast: 1", 1))},
			"BackupJob/weekly",
			func(l *lab) bool { return hasJob("nightly", "keep-last=9")(l) && l.sim.BackupJob("weekly") == nil },
		},
		"job_gets_another_id": {
			nil,
			files{"job.yaml": job("nightly", "id: other, "+strings.Replace(nightly, "keepLast: 9", "keepLast: 1", 1))},
			"BackupJob/nightly",
			func(l *lab) bool { return hasJob("nightly", "keep-last=9")(l) && l.sim.BackupJob("other") == nil },
		},
		"job_runs_once_in_years": {
			nil, files{"job.yaml": strings.Replace(job("nightly", nightly), "daily", `"2-29 01:00"`, 1)}, "BackupJob/nightly", hasJob("nightly", "daily"),
		},
		"name_of_an_alias_is_taken": {
			files{"web.yaml": wall(), "office.yaml": office("10.1.0.0/24")},
			files{"web.yaml": wall("  aliases: {office: {cidr: 10.0.0.0/8}}")},
			"VirtualMachine/web-1",
			func(l *lab) bool {
				for route := range l.sim.Counters().Routes {
					if strings.HasPrefix(route, "POST ") && strings.HasSuffix(route, "/{vmid}/firewall/aliases") {
						return false
					}
				}
				return true
			},
		},
		"card_in_raw": {
			files{"web.yaml": wall(), "office.yaml": office("10.1.0.0/24")},
			files{"web.yaml": wall("raw: {net1: \"virtio,bridge=vmbr0\"}")},
			"VirtualMachine/web-1",
			func(l *lab) bool {
				text := l.sim.Value(201, "net1")
				return text == "" || strings.Contains(text, "firewall=1")
			},
		},
		"card_is_ignored": {
			files{"web.yaml": wall(), "office.yaml": office("10.1.0.0/24")},
			files{"web.yaml": wall("ignoreFields: [networks.net0]")},
			"VirtualMachine/web-1",
			func(l *lab) bool { return strings.Contains(l.sim.Value(201, "net0"), "firewall=1") },
		},
		"protection_in_raw": {
			files{"web.yaml": vmYAML("web-1", 201, "lifecycle: {protection: true}")},
			files{"web.yaml": vmYAML("web-1", 201, "raw: {protection: 0}")},
			"VirtualMachine/web-1",
			func(l *lab) bool { return l.sim.Value(201, "protection") == "1" },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.rareTicks()
				l.grant("Sys.Modify", "Datastore.Allocate")
				l.files["web.yaml"], l.files["other.yaml"] = vmYAML("web-1", 201, "backup: required"), vmYAML("other-1", 202)
				l.files["job.yaml"] = job("nightly", nightly)
				l.set(test.before)
				l.push("what is guarded", alice)
				defer l.start()()
				l.converge()
				l.set(test.after)
				l.waitForAcceptance(l.push("another way to it", alice))
				eventually(l, "the hold", func() bool {
					for _, h := range l.object(test.label).Held {
						if h.Reason == reason.Guard {
							return true
						}
					}
					return false
				})
				time.Sleep(time.Hour)
				if !test.stays(l) {
					t.Error("got the change carried out, want what the guard protects as it was")
				}
			})
		})
	}
}

// TestRenamedPolicyStays renames a policy and weakens it. The policy with the old name stays in force until its end is approved.
func TestRenamedPolicyStays(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["policy.yaml"], l.files["web.yaml"] = policyYAML("memory", tooMuchMemory), vmYAML("web-1", 201)
		l.push("a guest and a policy", alice)
		defer l.start()()
		l.converge()
		l.files["policy.yaml"], l.files["web.yaml"] = policyYAML("other", "false"), vmYAML("web-1", 201, "memory: {size: 8Gi}")
		l.push("another policy", alice)
		l.waitForHold(201, reason.Policy)
		l.waitForHeldGuard(0, "Policy/memory: deny in . -> removed")
		time.Sleep(10 * time.Minute)
		if got := l.sim.Value(201, "memory"); got == "8192" {
			t.Error("got the memory that the former policy denies")
		}
	})
}
