package intake

import (
	"strings"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// TestJudgeOnARevisionAcceptedBefore judges commits on top of a revision that an older release accepted and this one refuses. The revision itself and an order
// on top of it are read as they were accepted, with a warning. Another change is refused, until a commit corrects the place. A signer who may change nothing else
// may correct it, also after the refused change.
func TestJudgeOnARevisionAcceptedBefore(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, corrected, warning string
		guests                   []string // of wanda, who corrects it
	}{
		"key_that_a_comment_hides": {
			"apiVersion: proxmox.gitops/v1alpha1\nkind: Pool\nmetadata: {name: media}\nspec: # of the house \u2028  comment: hidden\n",
			"apiVersion: proxmox.gitops/v1alpha1\nkind: Pool\nmetadata: {name: media}\nspec: # of the house   comment: hidden\n",
			"all.yaml:4:22: accepted before, refused in a new revision: got the line separator U+2028, ",
			[]string{"Pool/media"},
		},
		"compressed_disk_image": {
			"apiVersion: proxmox.gitops/v1alpha1\nkind: Image\nmetadata: {name: haos}\nspec:\n  url: https://images.example/haos.qcow2.gz\n" +
				"  checksum: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bc822cd15d6c15b0f00a0\n  storage: local\n  content: import\n  decompression: gz\n",
			"apiVersion: proxmox.gitops/v1alpha1\nkind: Image\nmetadata: {name: haos}\nspec:\n  url: https://images.example/haos.qcow2\n" +
				"  checksum: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bc822cd15d6c15b0f00a0\n  storage: local\n  content: import\n",
			"all.yaml:9:18: Image haos: decompression: accepted before, refused in a new revision: ",
			[]string{"Image/haos"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ok := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			sig, err := sigtest.New(sigtest.Options{Seed: "accepted before", CAKey: sigtest.P256})
			ok(err)
			alice, wanda := sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}, sigtest.Identity{Subject: "wanda@lab.test", Issuer: "https://issuer.test"}
			root, err := sig.TrustedRoot()
			ok(err)
			policy, err := verify.NewPolicy(verify.Options{
				TrustedRoot: root, Branch: "main", Target: "home/main", Binding: verify.BindingNone, TrustOnFirstUse: true,
				Signers: []verify.Signer{
					{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []verify.Role{verify.RoleChange}},
					{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Guests: test.guests},
				},
			})
			ok(err)
			forge := gittest.New(t)
			forge.Files["cluster.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n"
			forge.Files["all.yaml"] = test.text
			inForce := forge.Push(sig, alice, "accepted by an older release")
			repo, err := gitsource.OpenRepository(forge.Dir)
			ok(err)
			judge := func(tip string) (Judgement, *report.Refused) {
				t.Helper()
				p := Proposal{Repo: repo, Policy: policy, Scope: Scope{Cluster: "home"}, State: journal.State{Accepted: &journal.Accepted{Commit: inForce}}}
				j, err := p.Judge(t.Context(), gitsource.ID(tip))
				refused := Refusal(gitsource.ID(tip), err)
				if err != nil && refused == nil {
					t.Fatal(err)
				}
				return j, refused
			}
			for _, tip := range []string{inForce, forge.Push(sig, alice, "an order, which changes no manifest")} {
				j, refused := judge(tip)
				if w := j.Accepted.Warnings(); refused != nil || len(w) != 1 || !strings.HasPrefix(w[0], test.warning) {
					t.Errorf("got refusal %+v and warnings %q, want it read with the warning %q", refused, w, test.warning)
				}
			}
			forge.Files["web.yaml"] = twoGuests
			if _, refused := judge(forge.Push(sig, alice, "two guests")); refused == nil || refused.Reason != report.RefusedManifests {
				t.Errorf("got refusal %+v of another change, want %s", refused, report.RefusedManifests)
			}
			forge.Files["all.yaml"] = test.corrected
			j, refused := judge(forge.Push(sig, wanda, "corrected"))
			if refused != nil || len(j.Accepted.Warnings()) > 0 || len(j.Accepted.Guests()) < 2 {
				t.Errorf("got refusal %+v and warnings %q of the correction, want it accepted", refused, j.Accepted.Warnings())
			}
		})
	}
}
