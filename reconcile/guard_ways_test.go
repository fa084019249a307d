package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// TestGuardsHoldWhereverTheyAreWritten takes a guard away from a guest by another name, another file, a class, the defaults of the Cluster, and while the agent is stopped. Each is held, and
// the guard stays in force.
func TestGuardsHoldWhereverTheyAreWritten(t *testing.T) {
	t.Parallel()
	guards := map[string]struct {
		line, weakening string
		inForce         func(r journal.GuardRules) bool
	}{
		"backup":     {"backup: required", "backup: required -> not required", func(r journal.GuardRules) bool { return r.Backup != "" }},
		"firewall":   {"firewall: {guarded: true, enable: true, rules: [{type: in, action: ACCEPT, source: 10.9.0.1}]}", "firewall: guarded ", func(r journal.GuardRules) bool { return r.Firewall != "" }},
		"protection": {"lifecycle: {protection: true}", "lifecycle.protection: on -> ", func(r journal.GuardRules) bool { return r.Protection == "on" }},
		"window":     {`lifecycle: {rebootPolicy: window, window: "Sat 03:00-04:00 UTC"}`, "lifecycle.rebootPolicy: window ", func(r journal.GuardRules) bool { return r.RebootPolicy == "window" }},
		"suspension": {"suspend: {reason: forensics, author: alice}", "suspend: without end -> none", func(r journal.GuardRules) bool { return r.Suspended != "" }},
	}
	const class = "class: [kept]"
	weaker := "lifecycle: {rebootPolicy: auto}" // only the window is weaker for it
	type files = map[string]string
	ways := map[string]func(line string) (before, after files){
		"label": func(line string) (before, after files) {
			return files{"web.yaml": vmYAML("web-1", 201, line)}, files{"web.yaml": vmYAML("other-1", 201, weaker)}
		},
		"file": func(line string) (before, after files) {
			return files{"web.yaml": vmYAML("web-1", 201, line)}, files{"web.yaml": "", "elsewhere.yaml": vmYAML("web-1", 201, weaker)}
		},
		"class": func(line string) (before, after files) {
			return files{"web.yaml": vmYAML("web-1", 201, class), "class.yaml": classYAML + "    " + line + "\n"}, files{"class.yaml": classYAML + "    " + weaker + "\n"}
		},
		"no_class": func(line string) (before, after files) {
			return files{"web.yaml": vmYAML("web-1", 201, class), "class.yaml": classYAML + "    " + line + "\n"}, files{"web.yaml": vmYAML("web-1", 201, weaker)}
		},
		"defaults": func(line string) (before, after files) {
			return files{"web.yaml": vmYAML("web-1", 201), "cluster.yaml": clusterWith("defaults:", "  virtualMachine:", "    "+line)},
				files{"cluster.yaml": clusterWith("defaults:", "  virtualMachine:", "    "+weaker)}
		},
		"stopped": func(line string) (before, after files) {
			return files{"web.yaml": vmYAML("web-1", 201, line)}, files{"web.yaml": vmYAML("web-1", 201, weaker)}
		},
	}
	for name, guarded := range guards {
		for way, changed := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				runLab(t, nil, func(t *testing.T, l *lab) {
					l.rareTicks()
					before, after := changed(guarded.line)
					l.files["keep.yaml"] = vmYAML("keep-1", 209)
					l.files["web.yaml"] = vmYAML("web-1", 201)
					if name == "window" { // it is weaker than the default, so the guest begins with it
						l.set(before)
					}
					l.push("a guest", alice)
					stop := l.start()
					defer func() { stop() }()
					l.converge()
					l.set(before)
					if name != "window" {
						l.waitForAcceptance(l.push("its guard", alice))
					}
					eventually(l, "the guard in force", func() bool { return guarded.inForce(l.journal.State().Guarded[201].Rules) })
					if way == "stopped" {
						stop()
					}
					l.set(after)
					commit := l.push("without it", alice)
					if way == "stopped" {
						stop = l.start()
					}
					l.waitForAcceptance(commit)
					eventually(l, "the held weakening", func() bool {
						for _, h := range l.heldGuards(201) {
							if strings.Contains(h.Message, guarded.weakening) {
								return true
							}
						}
						return false
					})
					time.Sleep(10 * time.Minute)
					if got := l.journal.State().Guarded[201].Rules; !guarded.inForce(got) {
						t.Errorf("got %+v in force, want the guard kept", got)
					}
				})
			})
		}
	}
}

// TestAuthorOfAReachApproves lets alice bring a guest into the reach of a job of another person, or out of it, in each way in which a job selects guests. With separateApprover her own approval
// does not count.
func TestAuthorOfAReachApproves(t *testing.T) {
	t.Parallel()
	job := func(name, schedule, retention, guests string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: " + name + "}\nspec: {schedule: \"" + schedule + "\", storage: local, retention: {" + retention + "}, guests: {" + guests + "}}\n"
	}
	second := func(guests string) string { return job("second", "hourly", "keepLast: 1", guests) }
	nightly := func(guests string) string { return job("nightly", "02:00", "keepLast: 3", guests) }
	web, other, labs := vmYAML("web-1", 201, "backup: required"), vmYAML("other-1", 202), labelled("other-1", 202, "tier: lab")
	inLab := labelled("web-1", 201, "tier: lab") + "  backup: required\n"
	set := func(label string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestSet\nmetadata: {name: webs, labels: {tier: " + label + "}}\nspec:\n" +
			"  virtualMachine: {node: pve1, source: {clone: {name: tmpl-debian-12}}, memory: {size: 1Gi}, backup: required}\n  members:\n  - {name: web-1, vmid: 201}\n"
	}
	type files = map[string]string
	tests := map[string]struct{ before, after files }{
		"pool":         {files{"web.yaml": web, "second.yaml": second("pool: lab")}, files{"web.yaml": web + "  pool: lab\n"}},
		"label":        {files{"web.yaml": web, "other.yaml": labs, "second.yaml": second("labels: {tier: lab}")}, files{"web.yaml": inLab}},
		"out_of_label": {files{"web.yaml": inLab, "other.yaml": labs, "job.yaml": nightly("labels: {tier: lab}")}, files{"web.yaml": web}},
		"selector":     {files{"web.yaml": inLab, "other.yaml": labelled("other-1", 202, "tier: web"), "second.yaml": second("labels: {tier: web}")}, files{"second.yaml": second("labels: {tier: lab}")}},
		"guest_set":    {files{"web.yaml": set("web"), "other.yaml": labs, "second.yaml": second("labels: {tier: lab}")}, files{"web.yaml": set("lab")}},
		"vmid":         {files{"web.yaml": web, "other.yaml": other, "second.yaml": second("vmids: [202]")}, files{"second.yaml": second("vmids: [201, 202]")}},
		"all":          {files{"web.yaml": web, "other.yaml": other, "second.yaml": second("vmids: [202]")}, files{"second.yaml": second("all: true")}},
		"except":       {files{"web.yaml": web, "other.yaml": other, "second.yaml": second("all: true, except: [201]")}, files{"second.yaml": second("all: true")}},
		"class": {
			files{"web.yaml": vmYAML("web-1", 201, "class: [kept]", "backup: required"), "class.yaml": classYAML + "    memory: {size: 1Gi}\n", "second.yaml": second("pool: lab")},
			files{"class.yaml": classYAML + "    memory: {size: 1Gi}\n    pool: lab\n"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, []labOption{func(o *reconcile.Options) { o.Separate = true }}, func(t *testing.T, l *lab) {
				l.grant("Sys.Modify", "Datastore.Allocate", "VM.Backup", "Pool.Allocate", "VM.Allocate")
				l.trustSigners(aliceMay(verify.RoleApprove), verify.Signer{Name: "pia", Issuer: pia.Issuer, Subject: pia.Subject, May: []verify.Role{verify.RoleChange}},
					verify.Signer{Name: "olga", Issuer: olga.Issuer, Subject: olga.Subject, May: approveOnly})
				l.sim.AddPool("lab", "")
				l.files["job.yaml"] = nightly("vmids: [201]")
				l.set(test.before)
				l.push("guests and jobs", pia)
				defer l.start()()
				l.converge()
				l.set(test.after)
				l.push("into its reach", alice)
				held := func() (held []report.HeldStep) {
					for _, label := range []string{"VirtualMachine/web-1", "BackupJob/second", "BackupJob/nightly"} {
						held = append(held, l.object(label).Held...)
					}
					return held
				}
				eventually(l, "the hold", func() bool { return len(held()) == 1 && held()[0].Reason == reason.Guard })
				digest := held()[0].Digest
				l.waitForAcceptance(l.push(approve(digest), alice))
				eventually(l, "the approval that does not count", func() bool { return len(held()) == 1 && len(held()[0].Uncounted) == 1 })
				l.push(approve(digest), olga)
				l.converge()
			})
		})
	}
}

// TestPolicyHoldsWhereverTheValueIsWritten gives a guest more memory than a policy allows, by another name, a class, the defaults of the Cluster, and while the agent is stopped.
func TestPolicyHoldsWhereverTheValueIsWritten(t *testing.T) {
	t.Parallel()
	const memory = "memory: {size: 8Gi}"
	ways := map[string]map[string]string{
		"label":    {"web.yaml": vmYAML("other-1", 201, memory)},
		"class":    {"web.yaml": vmYAML("web-1", 201, "class: [kept]"), "class.yaml": classYAML + "    " + memory + "\n"},
		"defaults": {"cluster.yaml": clusterWith("defaults:", "  virtualMachine:", "    "+memory)},
		"stopped":  {"web.yaml": vmYAML("web-1", 201, memory)},
	}
	for way, after := range ways {
		t.Run(way, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["policy.yaml"], l.files["web.yaml"] = policyYAML("memory", tooMuchMemory), vmYAML("web-1", 201)
				l.push("a guest and a policy", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				if way == "stopped" {
					stop()
				}
				l.set(after)
				l.push("more memory", alice)
				if way == "stopped" {
					stop = l.start()
				}
				l.waitForHold(201, reason.Policy)
				time.Sleep(10 * time.Minute)
				if got := l.sim.Value(201, "memory"); got == "8192" {
					t.Error("got the memory that the policy denies, want the former")
				}
			})
		})
	}
}

// TestMinimumHoldsWithoutItsLine removes the line with the number of approvals, and moves the Cluster to a file that lacks it. The number stays in force.
func TestMinimumHoldsWithoutItsLine(t *testing.T) {
	t.Parallel()
	for way, after := range map[string]map[string]string{
		"line": {"cluster.yaml": clusterYAML},
		"file": {"cluster.yaml": "", "elsewhere.yaml": clusterYAML},
	} {
		t.Run(way, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["cluster.yaml"], l.files["web.yaml"] = clusterWith("guards: {approvals: 2}"), vmYAML("web-1", 201)
				l.push("a guest", alice)
				defer l.start()()
				l.converge()
				l.set(after)
				l.waitForAcceptance(l.push("no number", alice))
				l.waitForHeldGuard(0, "guards.approvals: 2 -> 1", "0 of 2 approvals")
				if got := l.journal.State().ClusterGuards.Approvals; got != 2 {
					t.Errorf("got %d approvals in force, want 2", got)
				}
			})
		})
	}
}
