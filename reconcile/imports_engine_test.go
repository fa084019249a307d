package reconcile_test

import (
	"strings"
	"testing"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// TestImportedClassesAreInScope changes a class of a folder that two clusters of a repository import. The agent of one of them reads only its own folder
// and the imports. A signer with limited paths or guests changes no guests of the cluster by way of the class.
func TestImportedClassesAreInScope(t *testing.T) {
	t.Parallel()
	const class = "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: web}\nspec:\n  virtualMachine: {memory: {size: 1Gi}}\n"
	cluster := func(imports string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}, imports: [" + imports + "]}\n"
	}
	paths := verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Paths: []string{"clusters/home"}}
	guests := verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Guests: []string{"VirtualMachine/web-*"}}
	other := strings.Replace(class, "1Gi", "2Gi", 1)
	tests := map[string]struct {
		signer verify.Signer
		change func(files map[string]string)
		reason string // of the refusal; "" means accepted
		want   string // in the refusal
	}{
		"class_by_anybody":        {aliceMay(), func(f map[string]string) { f["clusters/common/web.yaml"] = other }, "", ""},
		"class_by_limited_path":   {paths, func(f map[string]string) { f["clusters/common/web.yaml"] = other }, string(verify.ReasonOutOfScope), "clusters/common/web.yaml"},
		"class_by_limited_guests": {guests, func(f map[string]string) { f["clusters/common/web.yaml"] = other }, report.RefusedScope, "changed VirtualMachine/db-1"},
		"import_by_limited_guests": {guests, func(f map[string]string) { // the same class from another folder
			delete(f, "clusters/common/web.yaml")
			f["clusters/other/web.yaml"] = other
			f["clusters/home/cluster.yaml"] = cluster("../other")
		}, report.RefusedScope, "changed VirtualMachine/db-1"},
		"absent":  {aliceMay(), func(f map[string]string) { delete(f, "clusters/common/web.yaml") }, report.RefusedManifests, "where the repository has no manifests"},
		"outside": {aliceMay(), func(f map[string]string) { f["clusters/home/cluster.yaml"] = cluster("../../../etc") }, report.RefusedManifests, "where the repository has no manifests"},
		"other_cluster": {aliceMay(), func(f map[string]string) { // no manifest of the other cluster is read
			f["clusters/away/cluster.yaml"] = strings.Replace(cluster("../common"), "home", "away", 1)
			f["clusters/away/broken.yaml"] = "broken: ["
		}, "", ""},
	}
	onlyHome := []labOption{func(o *reconcile.Options) { o.Scope.Paths = []string{"clusters/home"} }}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, onlyHome, func(t *testing.T, l *lab) {
				signers := []verify.Signer{aliceMay()}
				by := alice
				if test.signer.Name == "wanda" {
					signers, by = append(signers, test.signer), wanda
				}
				l.trustSigners(signers...)
				for file := range l.files {
					delete(l.files, file)
				}
				l.files["clusters/home/cluster.yaml"] = cluster("../common")
				l.files["clusters/common/web.yaml"] = class
				l.files["clusters/home/web.yaml"] = vmYAML("web-1", 201, "class: web")
				l.files["clusters/home/db.yaml"] = vmYAML("db-1", 202, "class: web")
				l.push("two guests", alice)
				if refused := l.once().Source.Refused; refused != nil {
					t.Fatalf("got %v, want the first commit accepted", refused)
				}
				if got := l.sim.Value(201, "memory"); got != "1024" {
					t.Errorf("got memory %q, want that of the imported class", got)
				}
				test.change(l.files)
				l.push(name, by)
				refused := l.once().Source.Refused
				switch {
				case test.reason == "" && refused != nil:
					t.Errorf("got %v, want it accepted", refused)
				case test.reason != "" && (refused == nil || refused.Reason != test.reason || !strings.Contains(refused.Error, test.want)):
					t.Errorf("got %+v, want a refusal as %s that contains %q", refused, test.reason, test.want)
				}
				if name == "class_by_anybody" && l.sim.Value(201, "memory") != "2048" {
					t.Errorf("got memory %q, want that of the changed class", l.sim.Value(201, "memory"))
				}
			})
		})
	}
}
