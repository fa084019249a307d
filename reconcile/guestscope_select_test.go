package reconcile_test

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/report"
)

// TestGuestScopeIncludesSelectedGuests tests the scope of wanda, who may change only the web servers. A class that selects guests by file or label
// changes the selected guests, in any file, and so does a change that makes a guest match.
func TestGuestScopeIncludesSelectedGuests(t *testing.T) {
	t.Parallel()
	class := func(selects, memory string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: some}\nspec:\n  select: {" + selects +
			"}\n  virtualMachine: {memory: {size: " + memory + "}}\n"
	}
	labelled := func(name string, vmid int, labels string) string {
		return strings.Replace(vmYAML(name, vmid), "metadata: {name: "+name+"}", "metadata: {name: "+name+", labels: {"+labels+"}}", 1)
	}
	tests := map[string]struct {
		change  func(files map[string]string)
		outside string // what the refusal contains; "" means accepted
	}{
		"class_by_path_of_web": {func(files map[string]string) {
			files["web-class.yaml"] = class(`paths: ["web-*"]`, "2Gi")
		}, ""},
		"class_by_path_of_all": {func(files map[string]string) {
			files["web-class.yaml"] = class(`paths: ["*"]`, "2Gi")
		}, "VirtualMachine/db-1"},
		"class_by_label_of_web": {func(files map[string]string) {
			files["web-class.yaml"] = class("labels: {tier: web}", "2Gi")
		}, ""},
		"class_by_label_of_db": {func(files map[string]string) {
			files["web-class.yaml"] = class("labels: {tier: db}", "2Gi")
		}, "VirtualMachine/db-1"},
		"wider_selection": {func(files map[string]string) {
			files["shared.yaml"] = class(`paths: ["web-*", "db-*"]`, "1Gi")
		}, "VirtualMachine/db-1"},
		"other_content": {func(files map[string]string) {
			files["shared.yaml"] = class(`paths: ["web-*"]`, "4Gi")
		}, ""},
		"moved_into_the_selection": {func(files map[string]string) {
			files["web-db.yaml"] = files["db-db.yaml"]
			delete(files, "db-db.yaml")
		}, "VirtualMachine/db-1"},
		"moved_out_of_the_selection": {func(files map[string]string) {
			files["other-web.yaml"] = files["web-web.yaml"]
			delete(files, "web-web.yaml")
		}, ""},
		"label_of_another_guest": {func(files map[string]string) { // labels also decide which policies apply
			files["db-db.yaml"] = labelled("db-1", 202, "tier: db, owner: wanda")
		}, "VirtualMachine/db-1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["shared.yaml"] = class(`paths: ["web-*"]`, "1Gi")
				l.files["web-web.yaml"] = labelled("web-1", 201, "tier: web")
				l.files["db-db.yaml"] = labelled("db-1", 202, "tier: db")
				l.push("two guests", alice)
				l.once()
				delete(l.files, "web-class.yaml")
				test.change(l.files)
				if strings.HasPrefix(name, "class_by") { // otherwise two classes of one order would set the same field
					delete(l.files, "shared.yaml")
				}
				l.push(name, wanda)
				refused := l.once().Source.Refused
				switch {
				case test.outside == "" && refused != nil:
					t.Errorf("got the change refused for %s, want it accepted", refused.Error)
				case test.outside != "" && refused == nil:
					t.Errorf("got the change accepted, want it refused for %s", test.outside)
				case test.outside != "" && (refused.Reason != report.RefusedScope || !strings.Contains(refused.Error, "changed "+test.outside)):
					t.Errorf("got it refused as %s: %s, want %s named", refused.Reason, refused.Error, test.outside)
				}
			})
		})
	}
}
