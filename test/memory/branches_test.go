//go:build integration

package memory

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
)

const (
	vm       = "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: v%d}\n"
	password = vm + "spec: {vmid: 290, node: pve1, cloudInit: {storage: local, passwordFrom: %s}}\n"
)

// branches are the files of a commit without a signature, beside those of the repository.
var branches = map[string]func(size int) map[string]string{
	"values": func(int) map[string]string {
		return map[string]string{"v.yaml": fmt.Sprintf(vm, 1) + "spec: {raw: {args: [" + strings.Repeat("a,", 140_000) + "a]}}\n"}
	},
	"guests": func(size int) map[string]string {
		var text strings.Builder
		for i := range size * 500 {
			fmt.Fprintf(&text, "---\n"+vm+"spec: {vmid: %d}\n", i, 1000+i)
		}
		return map[string]string{"v.yaml": text.String()}
	},
	"files_of_values": func(size int) map[string]string {
		files := map[string]string{}
		for i := range size * 4 {
			files[fmt.Sprintf("v%d.yaml", i)] = fmt.Sprintf(vm, i) + "spec: {raw: {args: [" + strings.Repeat("a,", 100_000) + "a]}}\n"
		}
		return files
	},
	"problems": func(int) map[string]string { // one for each line
		return map[string]string{"v.yaml": fmt.Sprintf(vm, 1) + "spec:\n" + strings.Repeat("  x: {}\n", 50_000)}
	},
	"age_of_recipients": func(int) map[string]string {
		stanza := "-> X25519 " + base64.RawStdEncoding.EncodeToString(make([]byte, 32)) + "\n" + base64.RawStdEncoding.EncodeToString(make([]byte, 32)) + "\n"
		return map[string]string{
			"v.yaml": fmt.Sprintf(password, 1, "{age: {file: p.age}}"),
			"p.age":  "age-encryption.org/v1\n" + strings.Repeat(stanza, 2000) + "--- " + base64.RawStdEncoding.EncodeToString(make([]byte, 32)) + "\n",
		}
	},
	"sops_of_values": func(int) map[string]string {
		return map[string]string{
			"v.yaml":      fmt.Sprintf(password, 1, "{sops: {file: p.sops.yaml, key: a}}"),
			"p.sops.yaml": "a: b\nsops:\n  age:\n" + strings.Repeat("    - {recipient: a, enc: b}\n", 8000),
		}
	},
	"policy": func(int) map[string]string {
		return map[string]string{"p.yaml": "apiVersion: proxmox.gitops/v1alpha1\nkind: Policy\nmetadata: {name: p}\nspec: {rules: [{name: r, when: \"" + strings.Repeat("[0,1].all(a, ", 200) + "true" + strings.Repeat(")", 200) + "\", message: no}]}\n"}
	},
}

// TestHostileBranches plans a branch that anybody may push: `plan --ref` reads it without a signature.
func TestHostileBranches(t *testing.T) {
	s := newStand(t)
	s.honest = []string{"/api2/json/"}
	size := 1
	if *full {
		size = 8
	}
	files, tip := maps.Clone(s.repo.Files), s.repo.Tip
	s.measure("run", "signed")
	s.compare("plan --ref", slices.Sorted(maps.Keys(branches)), func(shape string) string {
		s.repo.Files = maps.Clone(files)
		maps.Copy(s.repo.Files, branches[shape](size))
		raw := sigtest.CommitSpec{Tree: s.repo.Tree(), Parents: []string{tip}, Message: shape}.Payload(time.Unix(1_800_000_000, 0))
		s.repo.Place(raw, sigtest.ObjectID("commit", raw))
		s.measure("run", "signed") // it fetches the branch, and refuses it
		return "signed"
	})
}
