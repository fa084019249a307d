package reconcile_test

import (
	"os"
	"strings"
	"testing"

	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// TestEncryptedSecretsInScope tests what signers with limits may do with encrypted passwords: wanda may change the files of the web servers alone in one half, and
// the web servers alone in the other half.
func TestEncryptedSecretsInScope(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		data, err := os.ReadFile("encrypted/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	withAge := func(name string, vmid int, file string) string {
		return vmYAML(name, vmid, "cloudInit: {storage: local-lvm, passwordFrom: {age: {file: "+file+"}}}")
	}
	paths := verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Paths: []string{"web.yaml", "web.age", "web2.yaml", "web.sops.yaml"}}
	guests := wandaMay(nil, nil)
	tests := map[string]struct {
		wanda  verify.Signer
		change func(files map[string]string)
		want   string // what the refusal contains; "" means accepted
	}{
		"own_file":       {paths, func(f map[string]string) { f["web.yaml"] = withAge("web-1", 201, "web.age") }, ""},
		"unrelated":      {paths, func(f map[string]string) { f["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 4Gi}") }, ""},
		"foreign_file":   {paths, func(f map[string]string) { f["web.yaml"] = withAge("web-1", 201, "db.age") }, "refers to the encrypted db.age in VirtualMachine/web-1"},
		"foreign_absent": {paths, func(f map[string]string) { f["web.yaml"] = withAge("web-1", 201, "later.age") }, "refers to the encrypted later.age in VirtualMachine/web-1"},
		"foreign_of_sops": {paths, func(f map[string]string) {
			f["web.yaml"] = vmYAML("web-1", 201, "cloudInit: {storage: local-lvm, passwordFrom: {sops: {file: all.sops.yaml, key: web.password}}}")
		}, "refers to the encrypted all.sops.yaml in VirtualMachine/web-1"},
		"foreign_of_new_guest": {paths, func(f map[string]string) { f["web2.yaml"] = withAge("web-2", 205, "db.age") }, "refers to the encrypted db.age in VirtualMachine/web-2"},
		"content_of_own_file":  {guests, func(f map[string]string) { f["web.age"] = read("web.armored.age") }, ""},
		"content_of_db":        {guests, func(f map[string]string) { f["db.age"] = read("other.age") }, "changed VirtualMachine/db-1"},
		"removed_file_of_db":   {guests, func(f map[string]string) { delete(f, "db.age") }, "changed VirtualMachine/db-1"},
		"other_manifest_of_db": {guests, func(f map[string]string) { f["db.yaml"] = withAge("db-1", 202, "web.age") }, "changed VirtualMachine/db-1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustSigners(aliceMay(), test.wanda)
				l.files["web.yaml"], l.files["web.age"] = withAge("web-1", 201, "web.age"), read("web.age")
				l.files["db.yaml"], l.files["db.age"] = withAge("db-1", 202, "db.age"), read("web.age")
				l.files["all.sops.yaml"] = read("suffix.sops.yaml")
				if test.wanda.Paths != nil {
					l.files["web.yaml"] = vmYAML("web-1", 201)
				}
				l.push("two guests", alice)
				if refused := l.once().Source.Refused; refused != nil {
					t.Fatalf("got %v, want the first commit accepted", refused)
				}
				test.change(l.files)
				l.push(name, wanda)
				refused := l.once().Source.Refused
				switch {
				case test.want == "" && refused != nil:
					t.Errorf("got %v, want it accepted", refused)
				case test.want != "" && (refused == nil || refused.Reason != report.RefusedScope || !strings.Contains(refused.Error, test.want)):
					t.Errorf("got %+v, want a refusal that contains %q", refused, test.want)
				}
			})
		})
	}
}

// TestForeignReferenceBehindABrokenCommit: a reference that a signer adds in a commit whose manifests do not parse still counts when another signer corrects them.
func TestForeignReferenceBehindABrokenCommit(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustSigners(aliceMay(), verify.Signer{
			Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Paths: []string{"web.yaml", "web2.yaml"},
		})
		l.files["web.yaml"], l.files["db.age"] = vmYAML("web-1", 201), "unreadable"
		l.push("a guest", alice)
		l.once()
		l.files["web.yaml"] = vmYAML("web-1", 201, "cloudInit: {storage: local-lvm, passwordFrom: {age: {file: db.age}}}")
		l.files["web2.yaml"] = "broken: ["
		l.push("a reference and a broken file", wanda)
		delete(l.files, "web2.yaml")
		l.push("corrected", alice)
		if refused := l.once().Source.Refused; refused == nil || refused.Reason != report.RefusedScope {
			t.Errorf("got %+v, want the reference refused", refused)
		}
	})
}
