package reconcile_test

import (
	"strings"
	"testing"

	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/verify"
)

// policyYAML is a policy that denies guests for which a condition is true.
func policyYAML(name, when string) string {
	return "apiVersion: proxmox.gitops/v1alpha1\nkind: Policy\nmetadata: {name: " + name + "}\nspec:\n  when: " + when + "\n  message: told\n"
}

const tooMuchMemory = "new.memory > 4 * 1024 * 1024 * 1024"

// TestRepositoryPolicy gives two guests more memory than the policy of one folder allows. The other guest gets it. Removing the policy is held, and the policy stays in
// force until another person approves that, also after a restart.
func TestRepositoryPolicy(t *testing.T) {
	runLab(t, []labOption{func(o *reconcile.Options) { o.Separate = true }}, func(t *testing.T, l *lab) {
		l.trustApprovers(verify.RoleApprove)
		l.files["teams/web/policy.yaml"] = policyYAML("memory", tooMuchMemory)
		l.files["teams/web/web.yaml"], l.files["teams/db/db.yaml"] = vmYAML("web-1", 201), vmYAML("db-1", 202)
		l.push("two guests and a policy", alice)
		stop := l.start()
		l.converge()
		l.files["teams/web/web.yaml"], l.files["teams/db/db.yaml"] = vmYAML("web-1", 201, "memory: {size: 8Gi}"), vmYAML("db-1", 202, "memory: {size: 8Gi}")
		l.push("memory", alice)
		l.waitForHold(201, reason.Policy)
		l.waitForCondition(201, "Held policy", "policy memory (teams/web/policy.yaml:1:1) denies it: told")
		eventually(l, "the other guest", func() bool { return l.sim.Value(202, "memory") == "8192" })
		delete(l.files, "teams/web/policy.yaml")
		l.waitForAcceptance(l.push("no policy", alice))
		l.waitForHeldGuard(0, "Policy/memory: deny in teams/web -> removed", "0 of 1 approvals")
		stop()
		defer l.start()()
		digest := l.waitForHeldGuard(0, "Policy/memory: deny in teams/web -> removed")
		l.push(approve(digest), alice)
		eventually(l, "the approval that does not count", func() bool { held := l.heldGuards(0); return len(held) == 1 && len(held[0].Uncounted) == 1 })
		l.waitForHold(201, reason.Policy)
		if got := l.sim.Value(201, "memory"); got == "8192" {
			t.Errorf("got memory %s before the approval, want the former", got)
		}
		l.push(approve(digest), olga)
		l.converge()
		state := l.journal.State()
		_, remembered := state.Introduced[journal.Label{Kind: "Policy", Name: "memory"}]
		if got := l.sim.Value(201, "memory"); got != "8192" || len(state.Policies) > 0 || remembered {
			t.Errorf("got memory %s, policies %v and who removed them %t after the approval, want 8192 and nothing", got, state.Policies, remembered)
		}
	})
}

// TestRepositoryPolicyStrengthened changes a policy from a warning to a denial, which takes effect at once, and corrects it with an approval.
func TestRepositoryPolicyStrengthened(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustApprovers()
		l.files["policy.yaml"] = policyYAML("memory", tooMuchMemory) + "  result: warn\n"
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 8Gi}")
		l.push("a guest and a warning", alice)
		defer l.start()()
		l.converge()
		l.files["policy.yaml"] = policyYAML("memory", tooMuchMemory)
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 9Gi}")
		l.push("a denial", alice)
		l.waitForHold(201, reason.Policy)
		l.files["policy.yaml"] = policyYAML("memory", "new.memory > 9 * 1024 * 1024 * 1024")
		l.push("a larger bound", alice)
		digest := l.waitForHeldGuard(0, "Policy/memory: when new.memory > 4 *", "-> when new.memory > 9 *", "(policy.yaml:1:1)")
		l.waitForHold(201, reason.Policy)
		l.push(approve(digest), olga)
		l.converge()
		if got := l.sim.Value(201, "memory"); got != "9216" {
			t.Errorf("got memory %s, want 9216", got)
		}
	})
}

// TestRepositoryPolicyOfALimitedSigner lets a signer who may change web servers deny everything in the whole repository. Only the web server is held.
func TestRepositoryPolicyOfALimitedSigner(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		web := verify.Signer{
			Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Guests: []string{"VirtualMachine/web-*", "Policy/web-*"},
		}
		l.trustSigners(aliceMay(), web)
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201), vmYAML("db-1", 202)
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.files["policy.yaml"] = policyYAML("web-all", `"true"`)
		l.waitForAcceptance(l.push("deny everything", wanda))
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "memory: {size: 3Gi}"), vmYAML("db-1", 202, "memory: {size: 3Gi}")
		l.push("memory", alice)
		l.waitForHold(201, reason.Policy)
		eventually(l, "the guest of others", func() bool { return l.sim.Value(202, "memory") == "3072" })
		delete(l.files, "policy.yaml")
		l.files["other.yaml"] = policyYAML("all", `"true"`)
		l.push("a policy with another name", wanda)
		eventually(l, "a refusal", func() bool { return l.engine.Report().Source.Refused != nil })
	})
}

// TestRepositoryPolicyWhileManifestsDoNotParse lets two signers with paths keep the manifests unparsable while alice adds a policy of the whole repository. The policy is hers alone, so it
// holds guests that neither of them may change.
func TestRepositoryPolicyWhileManifestsDoNotParse(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		limited := func(who sigtest.Identity, name, path string) verify.Signer {
			return verify.Signer{Name: name, Issuer: who.Issuer, Subject: who.Subject, May: []verify.Role{verify.RoleChange}, Paths: []string{path}}
		}
		l.trustSigners(aliceMay(), limited(wanda, "wanda", "web"), limited(olga, "olga", "db"))
		l.files["web/web.yaml"], l.files["db/db.yaml"], l.files["app.yaml"] = vmYAML("web-1", 201), vmYAML("db-1", 202), vmYAML("app-1", 203)
		l.push("three guests", alice)
		defer l.start()()
		l.converge()
		l.files["web/web.yaml"] = "broken: ["
		l.repo.Push(l.sig, wanda, "broken")
		l.files["db/db.yaml"] = "broken: ["
		l.repo.Push(l.sig, olga, "broken too")
		l.files["policy.yaml"] = policyYAML("memory", tooMuchMemory)
		l.repo.Push(l.sig, alice, "a policy")
		l.files["db/db.yaml"] = vmYAML("db-1", 202)
		l.repo.Push(l.sig, olga, "mended")
		l.files["web/web.yaml"] = vmYAML("web-1", 201, "memory: {size: 8Gi}")
		l.waitForAcceptance(l.push("mended, with memory", wanda))
		l.waitForHold(201, reason.Policy)
		if by := l.journal.State().Policies["memory"].By; len(by) != 1 || len(by[0].Paths)+len(by[0].Guests) > 0 {
			t.Errorf("got the policy by %+v, want alice alone, without a limit", by)
		}
		if warnings := l.engine.Report().Source.Accepted.Warnings; len(warnings) > 0 {
			t.Errorf("got warnings %v, want none", warnings)
		}
	})
}

// TestRepositoryPolicyOfSeveralSigners lets wanda, who may change one file and one folder, and alice change the file of a policy while the manifests do not parse. It is not known who wrote
// the policy, so every step that it would judge as the policy of alice is held, until she changes it again.
func TestRepositoryPolicyOfSeveralSigners(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustSigners(aliceMay(), verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Paths: []string{"web", "policy.yaml"}})
		l.files["web/web.yaml"], l.files["app.yaml"] = vmYAML("web-1", 201), vmYAML("app-1", 203)
		l.push("two guests", alice)
		stop := l.start()
		l.converge()
		l.files["web/web.yaml"], l.files["policy.yaml"] = "broken: [", policyYAML("memory", tooMuchMemory)
		l.repo.Push(l.sig, wanda, "broken, with a policy")
		l.files["policy.yaml"] += "  description: of the house\n"
		l.repo.Push(l.sig, alice, "a policy")
		l.files["web/web.yaml"] = vmYAML("web-1", 201, "memory: {size: 8Gi}")
		l.repo.Push(l.sig, wanda, "mended")
		l.files["app.yaml"] = vmYAML("app-1", 203, "memory: {size: 3Gi}")
		l.waitForAcceptance(l.push("memory", alice))
		l.waitForHold(203, reason.Policy)
		l.waitForCondition(203, "it is not known who wrote it: wanda and alice changed its file while the manifests did not parse")
		stop()
		defer l.start()()
		l.waitForHold(203, reason.Policy)
		if warnings := l.engine.Report().Source.Accepted.Warnings; len(warnings) != 1 || !strings.Contains(warnings[0], "Policy memory: it is not known who wrote it") {
			t.Errorf("got warnings %v, want that of the policy", warnings)
		}
		l.files["policy.yaml"] = policyYAML("memory", tooMuchMemory) + "  description: of alice\n"
		l.push("her own", alice)
		eventually(l, "the other guest", func() bool { return l.sim.Value(203, "memory") == "3072" })
		l.waitForHold(201, reason.Policy)
	})
}

// TestRepositoryPolicyMistake accepts a revision in which the policy of one team has a mistake. It holds the guest of this team, until it is corrected.
func TestRepositoryPolicyMistake(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["teams/web/policy.yaml"] = policyYAML("memory", "new.memmory > 4")
		l.files["teams/web/web.yaml"], l.files["teams/db/db.yaml"] = vmYAML("web-1", 201), vmYAML("db-1", 202)
		l.push("two guests and a mistake", alice)
		defer l.start()()
		l.waitForHold(201, reason.Policy)
		l.waitForCondition(201, "it has a mistake: teams/web/policy.yaml:5:9: when: undefined field 'memmory', at 1:4 of the expression")
		eventually(l, "the other guest", func() bool { return l.sim.Value(202, "name") == "db-1" })
		l.files["teams/web/policy.yaml"] = policyYAML("memory", tooMuchMemory)
		l.push("corrected", alice)
		l.converge()
	})
}

// TestRepositoryPolicyOfTheFormerFolder moves a manifest out of the folder of a policy, and removes it then. The policy holds the change until the move is
// approved, and the destroy until the removal of the policy is.
func TestRepositoryPolicyOfTheFormerFolder(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustApprovers()
		l.files["web/policy.yaml"] = policyYAML("memory", tooMuchMemory)
		l.files["keep/policy.yaml"] = policyYAML("keep", "old.exists") + "  on: step\n  operations: [destroy]\n"
		l.files["web/web.yaml"], l.files["keep/db.yaml"], l.files["app.yaml"] = vmYAML("web-1", 201), vmYAML("db-1", 202, "lifecycle: {destroy: allow}"), vmYAML("app-1", 203)
		l.push("three guests", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "web/web.yaml")
		delete(l.files, "keep/db.yaml")
		l.files["test/web.yaml"] = vmYAML("web-1", 201, "memory: {size: 8Gi}")
		l.push("moved and removed", alice)
		l.waitForHold(202, reason.Policy)
		digest := l.waitForHeldGuard(201, "policies of its folder: memory -> none of them in test")
		l.waitForCondition(201, "Held policy", "policy memory (web/policy.yaml:1:1) denies it")
		l.push(approve(digest), olga)
		eventually(l, "the memory", func() bool { return l.sim.Value(201, "memory") == "8192" })
		delete(l.files, "keep/policy.yaml")
		l.push("destroys are allowed", alice)
		l.push(approve(l.waitForHeldGuard(0, "Policy/keep: deny in keep -> removed")), olga)
		eventually(l, "the destroy", func() bool { return l.destroyed(202) })
		l.converge()
		if left := l.journal.State().Left; len(left) > 0 {
			t.Errorf("got %v left, want nothing", left)
		}
	})
}

// TestRepositoryPolicyOfTheFormerLabel gives a guest another label, which the signer of a policy may not change. The policy applies until that is approved, also if the agent finds
// that commit and one of another signer in one poll.
func TestRepositoryPolicyOfTheFormerLabel(t *testing.T) {
	t.Run("polled", func(t *testing.T) { giveAnotherLabel(t, false) })
	t.Run("passed", func(t *testing.T) { giveAnotherLabel(t, true) })
}

func giveAnotherLabel(t *testing.T, isPassed bool) {
	t.Helper()
	runLab(t, nil, func(_ *testing.T, l *lab) {
		l.trustSigners(aliceMay(), verify.Signer{
			Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Guests: []string{"VirtualMachine/web-*", "Policy/web-*"},
		}, verify.Signer{Name: "olga", Issuer: olga.Issuer, Subject: olga.Subject, May: approveOnly})
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("a guest", alice)
		stop := l.start()
		l.converge()
		l.files["policy.yaml"] = policyYAML("web-memory", tooMuchMemory)
		l.waitForAcceptance(l.push("a policy", wanda))
		l.files["web.yaml"] = vmYAML("app-1", 201)
		if isPassed {
			l.repo.Push(l.sig, alice, "another label")
			l.files["other.yaml"] = vmYAML("web-2", 202)
			l.waitForAcceptance(l.push("another guest", wanda))
		} else {
			l.waitForAcceptance(l.push("another label", alice))
		}
		l.files["web.yaml"] = vmYAML("app-1", 201, "memory: {size: 8Gi}")
		l.waitForAcceptance(l.push("memory", alice))
		l.waitForHold(201, reason.Policy)
		stop()
		defer l.start()()
		digest := l.waitForHeldGuard(201, "policies of its folder: web-memory")
		l.waitForHold(201, reason.Policy)
		l.push(approve(digest), olga)
		eventually(l, "the memory", func() bool { return l.sim.Value(201, "memory") == "8192" })
	})
}
