package reconcile_test

import (
	"testing"
	"time"

	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

// TestGuardOfAPassedCommit lets alice push a guard and wanda push a weaker one right after it, so that one poll finds both commits. The guard is in force as if the agent had polled
// in between, and the weaker one waits for an approval.
func TestGuardOfAPassedCommit(t *testing.T) {
	t.Parallel()
	base := func(l *lab) { l.files["web/web.yaml"] = vmYAML("web-1", 201) }
	guest := func(lines ...string) func(l *lab) {
		return func(l *lab) { l.files["web/web.yaml"] = vmYAML("web-1", 201, lines...) }
	}
	cluster := func(approvals string) func(l *lab) {
		return func(l *lab) { l.files["cluster.yaml"] = clusterWith("guards: {approvals: " + approvals + "}") }
	}
	tests := map[string]struct {
		guard, weaken func(l *lab)
		vmid          int // whose step waits; 0 is the Cluster
		held          string
	}{
		"firewall":   {guest("firewall: {guarded: true, enable: true, rules: [{type: in, action: ACCEPT, source: 10.9.0.1}]}"), base, 201, "firewall: guarded "},
		"window":     {guest(`lifecycle: {rebootPolicy: window, window: "Sat 02:00-03:00 UTC"}`), guest("lifecycle: {rebootPolicy: auto}"), 201, "lifecycle.rebootPolicy: "},
		"suspend":    {guest("suspend: {reason: a test}"), base, 201, "suspend: without end -> none"},
		"destroy":    {guest("lifecycle: {destroy: deny}"), guest("lifecycle: {destroy: allow}"), 201, "lifecycle.destroy: deny -> allow"},
		"backup":     {guest("backup: required"), base, 201, "backup: required -> not required"},
		"protection": {guest("lifecycle: {protection: true}"), guest("lifecycle: {protection: false}"), 201, "lifecycle.protection: on -> off"},
		"cluster":    {cluster("3"), cluster("1"), 0, "guards.approvals: 3 -> 1"},
		"policy_changed": {
			func(l *lab) { l.files["policy.yaml"] = policyYAML("memory", tooMuchMemory) },
			func(l *lab) {
				l.files["policy.yaml"] = policyYAML("memory", tooMuchMemory) + "  description: of wanda\n"
			}, 0, "Policy/memory: scope everything -> scope ",
		},
		"policy_removed": {
			func(l *lab) { l.files["policy.yaml"] = policyYAML("memory", tooMuchMemory) },
			func(l *lab) { delete(l.files, "policy.yaml") }, 0, "Policy/memory: deny in . -> removed",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(_ *testing.T, l *lab) {
				wandas := verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Paths: []string{"web", "policy.yaml", "cluster.yaml"}}
				l.trustSigners(aliceMay(), wandas)
				base(l)
				cluster("1")(l)
				l.push("a guest", alice)
				stop := l.start()
				l.converge()
				test.guard(l)
				l.repo.Push(l.sig, alice, "a guard")
				test.weaken(l)
				l.waitForAcceptance(l.push("a weaker one", wanda))
				l.waitForHeldGuard(test.vmid, test.held)
				stop()
				defer l.start()()
				l.waitForHeldGuard(test.vmid, test.held)
			})
		})
	}
}

// TestPassedCommitOfTheSameSigner lets alice correct a guard before the agent has seen it. Nothing waits: it never was in force, and it was hers.
func TestPassedCommitOfTheSameSigner(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: deny}")
		l.repo.Push(l.sig, alice, "a guard")
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
		l.waitForAcceptance(l.push("another one", alice))
		time.Sleep(time.Minute)
		if got := l.heldGuards(201); len(got) != 1 { // approve, the default, is in force
			t.Errorf("got %+v, want the step from approve to allow", got)
		}
		if got := l.journal.State().Guarded[201].Destroy; got != "approve" {
			t.Errorf("got destroy: %s in force, want approve", got)
		}
	})
}

// TestObjectGuardOfAPassedCommit is TestGuardOfAPassedCommit for lifecycle.destroy of a pool.
func TestObjectGuardOfAPassedCommit(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Pool.Allocate")
		pool := func(destroy string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: Pool\nmetadata: {name: web}\nspec: {lifecycle: {destroy: " + destroy + "}}\n"
		}
		l.trustSigners(aliceMay(), verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}})
		l.files["web.yaml"], l.files["pool.yaml"] = vmYAML("web-1", 201), pool("allow")
		l.push("a pool", alice)
		defer l.start()()
		l.converge()
		l.files["pool.yaml"] = pool("deny")
		l.repo.Push(l.sig, alice, "a guard")
		l.files["pool.yaml"] = pool("allow")
		l.waitForAcceptance(l.push("a weaker one", wanda))
		if got := l.journal.State().Objects[journal.ObjectID{Kind: "Pool", ID: "web"}].Destroy; got != "deny" {
			t.Errorf("got destroy: %q in force, want deny", got)
		}
	})
}
