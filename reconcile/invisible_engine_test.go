package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// hiddenDescription is the manifest of web-1 with a key that a comment hides: a line ends for the agent's reader at the line separator, and for no editor.
func hiddenDescription(text string) string {
	return vmYAML("web-1", 201, "memory: {size: 1Gi} # one is enough \u2028  description: "+text)
}

// TestIncidentKeyThatACommentHides resumes a revision that an older release accepted, with a key that no reviewer saw. The key stays in force, with a warning at the place, over a
// restart and an order. A new revision that has the character is refused with the position. A signer who may change the guest alone removes it.
func TestIncidentKeyThatACommentHides(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.rareTicks()
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "memory: {size: 1Gi}", "description: first"), vmYAML("db-1", 202, "description: first")
		l.push("accepted", alice)
		stop := l.start()
		l.converge()
		l.files["web.yaml"] = hiddenDescription("second")
		l.push("accepted by an older release only", alice)
		eventually(l, "a refusal", func() bool { return l.refused().Commit == l.repo.Tip })
		if got := l.refused(); got.Reason != report.RefusedManifests || !strings.Contains(got.Error, "web.yaml:8:39: got the line separator U+2028, ") {
			t.Errorf("got refusal %+v, want the character with the position in the line that people see", got)
		}
		time.Sleep(10 * time.Minute)
		if got := l.sim.Value(201, "description"); !strings.HasPrefix(got, "first") {
			t.Errorf("got description %q, want nothing of the refused revision", got)
		}
		stop()
		l.acceptAsOlderRelease()
		for _, when := range []string{"resumed", "resumed again"} {
			stop = l.start()
			eventually(l, when, func() bool { return strings.HasPrefix(l.sim.Value(201, "description"), "second") })
			l.converge()
			if got := l.engine.Report().Source.Accepted.Warnings; len(got) != 1 || !strings.HasPrefix(got[0], "web.yaml:8:39: accepted before, refused in a new revision: got the line separator U+2028") {
				t.Errorf("%s: got warnings %q, want one at the place", when, got)
			}
			l.ok(l.sim.Edit(201, "description", "by hand"))
			eventually(l, "the repair", func() bool { return strings.HasPrefix(l.sim.Value(201, "description"), "second") })
			l.push("an order, which changes no manifest", alice)
			l.waitForAcceptance(l.repo.Tip)
			stop()
		}
		l.wandaMay(nil, "VirtualMachine/web-1")
		stop = l.start()
		l.files["db.yaml"] = vmYAML("db-1", 202, "description: second")
		l.push("by alice, refused because of the other file", alice)
		eventually(l, "a refusal", func() bool { return l.refused().Commit == l.repo.Tip })
		if got := l.refused(); got.Reason != report.RefusedManifests || !strings.Contains(got.Error, "web.yaml:8:39: ") {
			t.Errorf("got refusal %+v, want the place of the character", got)
		}
		stop()
		defer l.start()()
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 1Gi} # one is enough", "description: third")
		l.push("corrected by wanda, who may change web-1 alone", wanda)
		l.converge()
		web, db := l.sim.Value(201, "description"), l.sim.Value(202, "description")
		if warnings := l.engine.Report().Source.Accepted.Warnings; !strings.HasPrefix(web, "third") || !strings.HasPrefix(db, "second") || len(warnings) > 0 {
			t.Errorf("got descriptions %q and %q and warnings %q, want the new revision in force", web, db, warnings)
		}
	})
}

// TestHiddenKeyCountsForItsSigner: a signer who may not change a guest cannot remove a key that a comment hides in it. For the agent it is a change of the guest.
func TestHiddenKeyCountsForItsSigner(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.rareTicks()
		l.files["web.yaml"] = hiddenDescription("hidden")
		l.files["db.yaml"] = vmYAML("db-1", 202)
		visible := l.files["web.yaml"]
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 1Gi}")
		l.push("accepted", alice)
		stop := l.start()
		l.converge()
		l.files["web.yaml"] = visible
		l.push("accepted by an older release only", alice)
		stop()
		l.acceptAsOlderRelease()
		l.wandaMay(nil, "VirtualMachine/db-1")
		defer l.start()()
		eventually(l, "the hidden key", func() bool { return strings.HasPrefix(l.sim.Value(201, "description"), "hidden") })
		l.files["web.yaml"] = strings.Replace(visible, "\u2028", " ", 1)
		l.push("out of the scope of wanda", wanda)
		eventually(l, "a refusal", func() bool { return l.refused().Commit == l.repo.Tip })
		if got := l.refused(); got.Reason != report.RefusedScope || !strings.Contains(got.Error, "changed VirtualMachine/web-1") {
			t.Errorf("got refusal %+v, want the guest that the hidden key belongs to", got)
		}
	})
}

// TestHiddenKeyOfAFormerTree stages a new revision over one with a hidden key that is in force. The machines that wait keep what the former revision gave them, also
// after a restart, which reads its tree again.
func TestHiddenKeyOfAFormerTree(t *testing.T) {
	approval := strings.Replace(tenth, "canary: 1", "canary: 1, pause: approval", 1)
	class := func(comment string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: web}\nspec:\n" + approval + "  virtualMachine:" + comment +
			"\n    adopt: ifUnmanaged\n    state: running\n    agent: {enabled: true}\n    health: {agent: true}\n    lifecycle: {rebootPolicy: auto}\n"
	}
	runLabWithFleet(t, 3, approval, func(t *testing.T, f *fleet) {
		memory := func(n int) string { return f.sim.Value(firstWeb+n-1, "memory") }
		f.files["class.yaml"] = class(" # of the web \u2029    memory: {size: 1536Mi}")
		f.push("accepted by an older release only", alice)
		eventually(f.lab, "a refusal", func() bool { return f.refused().Commit == f.repo.Tip })
		f.stops()
		f.acceptAsOlderRelease()
		f.stops = f.start()
		eventually(f.lab, "the hidden memory", func() bool { return memory(1) == "1536" && memory(2) == "1536" && memory(3) == "1536" })
		f.converge()
		f.files["class.yaml"] = class("\n    memory: {size: 2Gi}")
		revision := f.push("more memory, and no character that hides a key", alice)
		f.waitForRollout(journal.RolloutPaused, 1)
		for _, when := range []string{"before a restart", "after a restart"} {
			f.ok(f.sim.Edit(firstWeb+2, "memory", "4096"))
			eventually(f.lab, "the repair "+when, func() bool { return memory(3) == "1536" })
			if got := f.changed(); !slices.Equal(got, []int{1}) || f.sim.Effects(firstWeb+1, pvesim.Destroyed) > 0 {
				t.Errorf("%s: got %v changed, want the canary", when, got)
			}
			f.restart()
		}
		f.order("promote Rollout/web revision=" + revision)
		f.waitForRollout(journal.RolloutPaused, 2)
		f.order("promote Rollout/web revision=" + revision)
		f.converge()
		if got := f.changed(); !slices.Equal(got, upTo(3)) {
			t.Errorf("got %v changed, want all", got)
		}
	})
}
