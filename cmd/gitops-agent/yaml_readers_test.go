package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"gitops-agent/cmd/gitops-agent/internal/fleetview"
	"gitops-agent/cmd/gitops-agent/internal/policytest"
	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/status/access"
)

const (
	readersCluster = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n"
	readersPolicy  = "apiVersion: proxmox.gitops/v1alpha1\nkind: Policy\nmetadata: {name: two}\nspec: {when: \"true\", message: no}\n"
	readersTable   = "policies: [policy.yaml]\ncases:\n- name: any\n  new: {kind: VirtualMachine, metadata: {name: web}, spec: {node: pve1, source: {blank: {}}}}\n  want: [{policy: two}]\n"
	readersGuest   = "apiVersion: proxmox.gitops/v1alpha1\nkind: Container\nmetadata: {name: dns-1}\nspec:\n  vmid: 210\n  node: pve1\n  passwordFrom: {sops: {file: web.sops.yaml, key: web.password}}\n"
)

// readersOfYAML are all files of YAML that the agent and its commands read. A file begins with a comment, which the tests change.
func readersOfYAML(t *testing.T) map[string]yamlReader {
	t.Helper()
	sops, err := os.ReadFile("../../reconcile/encrypted/testdata/mac.sops.yaml")
	if err != nil {
		t.Fatal(err)
	}
	working := func(dir, _ string) error {
		_, err := subject.ReadDirs(t.Context(), []string{dir})
		return err
	}
	return map[string]yamlReader{
		"manifests":     {map[string]string{"cluster.yaml": readersCluster}, "cluster.yaml", "reconcile/manifest/tree/read.go", working},
		"file_of_sops":  {map[string]string{"cluster.yaml": readersCluster, "dns.yaml": readersGuest, "web.sops.yaml": string(sops)}, "web.sops.yaml", "reconcile/manifest/tree/read.go", working},
		"host_policies": {map[string]string{"policy.yaml": readersPolicy}, "policy.yaml", "reconcile/manifest/tree/read.go", func(_, file string) error { _, err := agent.ReadPolicies([]string{file}); return err }},
		"config":        {map[string]string{"config.yaml": agent.Example}, "config.yaml", "internal/agent/config.go", func(_, file string) error { _, err := agent.ReadConfig(file); return err }},
		"web_config": {map[string]string{"web.yaml": "http_server_config: {http2: false}\n"}, "web.yaml", "internal/status/access/web_config.go", func(_, file string) error {
			_, err := access.New(access.Options{Listen: "127.0.0.1:9746", WebConfigFile: file})
			return err
		}},
		"fleet": {map[string]string{"fleet.yaml": "- targets: [\"agent.lan:9746\"]\n"}, "fleet.yaml", "cmd/gitops-agent/internal/fleetview/target.go", func(_, file string) error {
			_, err := fleetview.ReadTargets(file, statusview.Target{})
			return err
		}},
		"cases_of_policies": {map[string]string{"policy.yaml": readersPolicy, "cases.yaml": readersTable}, "cases.yaml", "cmd/gitops-agent/internal/policytest/table.go", func(_, file string) error {
			_, err := policytest.Read(t.Context(), file)
			return err
		}},
	}
}

// yamlReader reads one of some files.
type yamlReader struct {
	files map[string]string // content by name
	file  string            // the one that is changed
	code  string            // the file of Go that decodes it
	read  func(dir, file string) error
}

// TestEveryReaderOfYAMLRefusesInvisibleCharacters hides each character in a comment of each file of YAML. A reader that takes it for the end of a line would read what
// follows, and no person sees it.
func TestEveryReaderOfYAMLRefusesInvisibleCharacters(t *testing.T) {
	t.Parallel()
	characters := map[string]string{"carriage return U+000D": "\r", "next line U+0085": "\u0085", "line separator U+2028": "\u2028", "paragraph separator U+2029": "\u2029", "byte order mark U+FEFF": "\ufeff"}
	for name, r := range readersOfYAML(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := func(content string) error {
				dir := t.TempDir()
				for file, text := range r.files {
					if file == r.file {
						text = content
					}
					if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				return r.read(dir, filepath.Join(dir, r.file))
			}
			text := r.files[r.file]
			for _, good := range []string{"# a comment\n" + text, "\ufeff# a comment\n" + text, "# a comment\r\n" + strings.ReplaceAll(text, "\n", "\r\n")} {
				if err := with(good); err != nil {
					t.Fatalf("got %v for a file without such a character, want it read", err)
				}
			}
			for character, raw := range characters {
				err := with("# first\n# é " + raw + " \n" + text)
				if err == nil || !strings.Contains(err.Error(), "got the "+character) || !strings.Contains(err.Error(), " in double quotes") {
					t.Errorf("got %v, want the %s refused with the remedy", err, character)
				}
				if err != nil && !strings.Contains(err.Error(), ":2:5: ") && !strings.Contains(err.Error(), "line 2, column 5: ") {
					t.Errorf("got %v, want line 2 and column 5", err)
				}
			}
			if r.code == "reconcile/manifest/tree/read.go" {
				return // it reads UTF-8 alone
			}
			var wide []byte
			for _, unit := range utf16.Encode([]rune("\ufeff# first\n# é \u2028 \n" + text)) {
				wide = append(wide, byte(unit>>8), byte(unit))
			}
			if err := with(string(wide)); err == nil || !strings.Contains(err.Error(), "line 2, column 5: got the line separator U+2028") {
				t.Errorf("got %v for UTF-16, want the position of the line separator", err)
			}
		})
	}
}

// TestReadersOfYAMLAreKnown finds the calls that decode YAML: each is in a file of readersOfYAML, and so checks what it reads. All YAML is written by tree.Encode.
func TestReadersOfYAMLAreKnown(t *testing.T) {
	t.Parallel()
	const root = "../.."
	known := map[string]bool{
		"reconcile/manifest/tree/syntax.go": true, // looks for the line of a syntax error in what read.go has checked
		"internal/promtest/rules.go":        true, // rules of this repository, for tests
	}
	for _, r := range readersOfYAML(t) {
		known[r.code] = true
	}
	found, writers := map[string]bool{}, map[string]bool{}
	for _, top := range []string{"cmd", "gitsource", "internal", "metrics", "reconcile", "verify"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				return err
			}
			library := ""
			for _, spec := range file.Imports {
				if path := strings.Trim(spec.Path.Value, `"`); path == "gopkg.in/yaml.v3" || strings.HasPrefix(path, "go.yaml.in/yaml/") || strings.HasPrefix(path, "sigs.k8s.io/yaml") {
					if library = "yaml"; spec.Name != nil {
						library = spec.Name.Name
					}
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, is := n.(*ast.SelectorExpr); is && library != "" {
					from, is := call.X.(*ast.Ident)
					switch file := strings.TrimPrefix(filepath.ToSlash(name), root+"/"); {
					case !is || from.Name != library:
					case call.Sel.Name == "NewDecoder", strings.HasPrefix(call.Sel.Name, "Unmarshal"):
						found[file] = true
					case call.Sel.Name == "NewEncoder", strings.HasPrefix(call.Sel.Name, "Marshal"):
						writers[file] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(known)); !slices.Equal(got, want) {
		t.Errorf("got calls that decode YAML in %v, want them in %v: call tree.CheckVisible before, and add a row to readersOfYAML", got, want)
	}
	if got, want := slices.Sorted(maps.Keys(writers)), []string{"internal/promtest/rules.go", "reconcile/manifest/tree/encode.go"}; !slices.Equal(got, want) {
		t.Errorf("got calls that encode YAML in %v, want them in %v: call tree.Encode", got, want)
	}
}
