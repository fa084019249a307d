package intake

import (
	"errors"
	"strings"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// TestGuestsOfOtherTargets: what a commit changed for other clusters only comes into force with a commit that names this one, by a signer who may change the same guests.
func TestGuestsOfOtherTargets(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: proxmox.gitops/v1alpha1\nkind: "
	vm := func(name, vmid, memory string) string {
		return head + "VirtualMachine\nmetadata: {name: " + name + "}\nspec: {vmid: " + vmid + ", memory: {size: " + memory + "}}\n"
	}
	const away, home = "\n\nGitops-Target: away/main", "\n\nGitops-Target: home/main"
	type made struct{ by, db, web, target string }
	tests := map[string]struct {
		made    []made
		outside string // in the refusal; "" is accepted
	}{
		"limited_tip":         {[]made{{"alice", "2Gi", "1Gi", away}, {"wanda", "2Gi", "2Gi", home}}, "may not change VirtualMachine/db-1"},
		"empty_limited_tip":   {[]made{{"alice", "2Gi", "1Gi", away}, {"wanda", "2Gi", "1Gi", home}}, "may not change VirtualMachine/db-1"},
		"unlimited_tip":       {[]made{{"alice", "2Gi", "1Gi", away}, {"wanda", "2Gi", "2Gi", home}, {"alice", "2Gi", "2Gi", home}}, ""},
		"adopted_below":       {[]made{{"alice", "2Gi", "1Gi", away}, {"alice", "2Gi", "1Gi", home}, {"wanda", "2Gi", "2Gi", home}}, ""},
		"own_guests":          {[]made{{"alice", "1Gi", "3Gi", away}, {"wanda", "1Gi", "2Gi", home}}, ""},
		"reverted":            {[]made{{"alice", "2Gi", "1Gi", away}, {"alice", "1Gi", "1Gi", away}, {"wanda", "1Gi", "2Gi", home}}, ""},
		"does_not_parse":      {[]made{{"alice", "two", "1Gi", away}, {"alice", "2Gi", "1Gi", away}, {"wanda", "2Gi", "2Gi", home}}, "may not change VirtualMachine/db-1"},
		"corrected_for_both":  {[]made{{"alice", "two", "1Gi", away}, {"alice", "2Gi", "1Gi", home}, {"wanda", "2Gi", "2Gi", home}}, ""},
		"two_kinds_of_limits": {[]made{{"alice", "2Gi", "1Gi", away}, {"dave", "2Gi", "3Gi", home}, {"wanda", "2Gi", "2Gi", home}}, "may not change VirtualMachine/db-1"},
		"adopted_by_path":     {[]made{{"alice", "1Gi", "3Gi", away}, {"dave", "1Gi", "2Gi", home}, {"wanda", "1Gi", "4Gi", home}}, ""},
		"signed_for_this_one": {[]made{{"alice", "2Gi", "1Gi", home}, {"wanda", "2Gi", "2Gi", home}}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSignedRepo(t)
			o.repo.Files["cluster.yaml"] = head + "Cluster\nmetadata: {name: home}\nspec: {}\n"
			o.repo.Files["db.yaml"], o.repo.Files["web.yaml"] = vm("db-1", "202", "1Gi"), vm("web-1", "201", "1Gi")
			o.commit("alice", "two guests"+home)
			base := o.repo.Tip
			for _, m := range test.made {
				o.repo.Files["db.yaml"], o.repo.Files["web.yaml"] = vm("db-1", "202", m.db), vm("web-1", "201", m.web)
				o.commit(m.by, "memory"+m.target)
			}
			rev, repo := o.checkWith(base, func(opts *verify.Options) {
				opts.Binding = verify.BindingTrailer
				opts.Signers = append(opts.Signers, verify.Signer{
					Name: "dave", Issuer: "https://issuer.test", Subject: "dave@lab.test", May: []verify.Role{verify.RoleChange}, Paths: []string{"web.yaml"},
				}, verify.Signer{
					Name: "wanda", Issuer: "https://issuer.test", Subject: "wanda@lab.test", May: []verify.Role{verify.RoleChange}, Guests: []string{"VirtualMachine/web-*"},
				})
			})
			tr := tracer{repo: repo, scope: Scope{Cluster: "home"}, known: map[gitsource.ID]manifest.Set{}}
			_, err := tr.follow(t.Context(), rev)
			var refused *RefusedError
			switch {
			case test.outside == "" && err != nil:
				t.Errorf("got %v, want it accepted", err)
			case test.outside != "" && (!errors.As(err, &refused) || refused.Reason != report.RefusedScope || !strings.Contains(err.Error(), test.outside)):
				t.Errorf("got %v, want it refused for %s", err, test.outside)
			}
		})
	}
}
