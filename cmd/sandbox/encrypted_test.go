package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEncryptedPasswords: with the key of the user the sandbox decrypts, and without it the guest waits; it invents no file for such a password.
func TestEncryptedPasswords(t *testing.T) {
	t.Parallel()
	const fixtures = "../../reconcile/encrypted/testdata/"
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(fixtures + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	identity := filepath.Join(t.TempDir(), "identity.txt")
	if err := os.WriteFile(identity, []byte(read("identity.txt")), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{
		"cluster.yaml":    "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\n",
		"secrets/web.age": read("web.age"), "all.sops.yaml": read("suffix.sops.yaml"),
		"guests.yaml": `apiVersion: proxmox.gitops/v1alpha1
kind: VirtualMachine
metadata: {name: web-1}
spec:
  vmid: 201
  node: pve1
  source: {blank: {}}
  cloudInit: {storage: local-lvm, passwordFrom: {age: {file: secrets/web.age}}}
---
apiVersion: proxmox.gitops/v1alpha1
kind: VirtualMachine
metadata: {name: db-1}
spec:
  vmid: 202
  node: pve1
  source: {blank: {}}
  cloudInit: {storage: local-lvm, passwordFrom: {sops: {file: all.sops.yaml, key: db.password}}}
`,
	})
	if r := sandboxed(t, "-once", "-age-identity", identity, dir); r.status != 0 || strings.Contains(r.out+r.notes, "battery staple") {
		t.Errorf("got status %d, want it converged without the password in the output:\n%s%s", r.status, r.out, r.notes)
	}
	if r := sandboxed(t, "-once", dir); r.status != 3 || !strings.Contains(r.out, "the agent has no identity to decrypt it") {
		t.Errorf("got status %d, want the guests blocked without a key:\n%s%s", r.status, r.out, r.notes)
	}
}
