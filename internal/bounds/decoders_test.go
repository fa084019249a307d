package bounds

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// decoders are the functions that read text or bytes of any size into memory, by import path. A name that ends in a star stands for all functions that begin so.
var decoders = map[string][]string{
	"encoding/json":                    {"Unmarshal", "NewDecoder"},
	"encoding/xml":                     {"*"},
	"encoding/gob":                     {"*"},
	"encoding/csv":                     {"*"},
	"encoding/asn1":                    {"Unmarshal*"},
	"encoding/pem":                     {"Decode"},
	"compress/gzip":                    {"NewReader"},
	"compress/zlib":                    {"NewReader*"},
	"compress/flate":                   {"NewReader*"},
	"compress/bzip2":                   {"*"},
	"archive/tar":                      {"NewReader"},
	"archive/zip":                      {"*"},
	"io":                               {"ReadAll"},
	"os":                               {"ReadFile"},
	"net/http":                         {"ReadResponse", "ReadRequest"},
	"gopkg.in/yaml.v3":                 {"Unmarshal", "NewDecoder"},
	"google.golang.org/protobuf/proto": {"Unmarshal"},
	"google.golang.org/protobuf/encoding/protojson":       {"Unmarshal"},
	"github.com/klauspost/compress/zstd":                  {"*"},
	"github.com/ulikunitz/xz":                             {"*"},
	"github.com/sigstore/sigstore-go/pkg/root":            {"NewTrustedRootFromJSON"},
	"github.com/go-git/go-git/v5/plumbing/format/idxfile": {"NewDecoder"},
	"github.com/go-git/go-git/v5/plumbing/object":         {"*"},
	"filippo.io/age":       {"Decrypt", "ParseIdentities", "ParseRecipients"},
	"filippo.io/age/armor": {"NewReader"},
}

// What bounds decoders of several functions.
const (
	host      = "a file that the operator of this host names, or that the agent wrote"
	hostnote  = "hostfile.MaxSize; a file in the state directory"
	journal   = "text that the agent wrote to its journal, in records of bounded size"
	proxmox   = "limits.Check in internal/proxmox/wire/transport.go, for each reply"
	objects   = "a part of a reply of Proxmox, or of a record of the journal, which are bounded"
	encrypted = "encrypted.MaxFile, and MaxPassword of the content; the identities are those of the host"
	signature = "maxSignature in verify/armor.go: the text is a part of a signature"
)

// reviewed are decoders that are bounded by something else than the functions of this package and io.LimitReader, by file and function, with what bounds them.
var reviewed = map[string]string{
	"cmd/gitops-agent/former_reasons.go formerReasons os.ReadFile":               host,
	"cmd/gitops-agent/internal/audit/policy.go readTrustedRoot os.ReadFile":      host,
	"cmd/gitops-agent/internal/clusterview/check.go tokenName os.ReadFile":       host,
	"cmd/gitops-agent/internal/fleetview/target.go parseTargets yaml.NewDecoder": host,
	"cmd/gitops-agent/internal/policytest/table.go Read yaml.NewDecoder":         host,
	"cmd/gitops-agent/internal/statusview/client.go clientTLS os.ReadFile":       host,
	"gitsource/collect.go collected idxfile.NewDecoder":                          "an index that the agent wrote for a pack of at most some hundred thousand objects",
	"gitsource/loose.go readLoose zlib.NewReader":                                "the size in the header, compared with a limit before it is unpacked",
	"gitsource/packs/inflater.go open zlib.NewReader":                            "space in unpack.go, and spend in receive.go: the size is compared with limits, and the content is read in parts",
	"gitsource/packs/receive.go inflate zlib.NewReader":                          "spend in receive.go: the content is read in parts",
	"internal/agent/agent.go FingerprintKey os.ReadFile":                         host,
	"internal/agent/config.go ParseConfig yaml.NewDecoder":                       host,
	"internal/agent/secret_key.go secretKey os.ReadFile":                         host,
	"internal/agent/trust_store.go load json.Unmarshal":                          host,
	"internal/attest/convergence.go parseConvergence json.NewDecoder":            "limits.Check, before it",
	"internal/attest/key.go ParseKeys pem.Decode":                                host,
	"internal/bounds/json.go Unmarshal json.Unmarshal":                           "check, before it",
	"internal/evidence/entry.go signatureOf pem.Decode":                          "bundleLimits of the entry that has it",
	"internal/notify/memory.go readMemory json.Unmarshal":                        host,
	"internal/notify/memory.go readMemory os.ReadFile":                           host,
	"internal/proxmox/firewall.go problemsOf json.Unmarshal":                     proxmox,
	"internal/proxmox/reply/cursor.go Skip json.NewDecoder":                      proxmox,
	"internal/proxmox/reply/cursor.go decoded json.Unmarshal":                    proxmox,
	"internal/proxmox/reply/members.go LacksQuorum json.Unmarshal":               proxmox,
	"internal/proxmox/reply/scalar.go UnmarshalJSON json.Unmarshal":              proxmox,
	"internal/proxmox/token.go readToken os.ReadFile":                            host,
	"internal/proxmox/wait.go logLines json.Unmarshal":                           proxmox,
	"internal/proxmox/wire/trust.go readPool os.ReadFile":                        host,
	"internal/status/access/web_config.go readWebConfig yaml.NewDecoder":         host,
	"reconcile/encrypted/age.go checkEnvelope age.Decrypt":                       encrypted,
	"reconcile/encrypted/age.go envelope armor.NewReader":                        encrypted,
	"reconcile/encrypted/age.go openEnvelope age.Decrypt":                        encrypted,
	"reconcile/encrypted/encrypted.go Identities age.ParseIdentities":            host,
	"reconcile/guest/firewall_guard.go DecodeFirewallGuard json.Unmarshal":       journal,
	"reconcile/guest/rollout.go DecodeRollout json.Unmarshal":                    journal,
	"reconcile/journal/copy.go imageOfDisk io.ReadAll":                           journal,
	"reconcile/journal/etcdstore/client.go Open os.ReadFile":                     host,
	"reconcile/journal/etcdstore/client.go tls os.ReadFile":                      host,
	"reconcile/journal/etcdstore/leader.go Leader json.Unmarshal":                journal,
	"reconcile/journal/etcdstore/leader.go tryElect json.Unmarshal":              journal,
	"reconcile/journal/etcdstore/store.go parseHead json.Unmarshal":              journal,
	"reconcile/journal/payload.go decodeRecords json.NewDecoder":                 journal,
	"reconcile/journal/payload.go newerPayload json.Unmarshal":                   journal,
	"reconcile/journal/replay.go torn io.ReadAll":                                journal,
	"reconcile/journal/salvage.go salvageFile io.ReadAll":                        journal,
	"reconcile/kind/firewall_objects.go EntriesOf json.Unmarshal":                objects,
	"reconcile/kind/firewall_objects.go RulesOf json.Unmarshal":                  objects,
	"reconcile/kind/row.go Rows json.NewDecoder":                                 objects,
	"reconcile/lane/object.go objectResult json.Unmarshal":                       journal,
	"reconcile/lane/order.go overrideBefore json.Unmarshal":                      journal,
	"reconcile/manifest/tree/read.go Read yaml.NewDecoder":                       "limits.Check, before it",
	"reconcile/manifest/tree/syntax.go parses yaml.NewDecoder":                   "limits.Check in Read, before it",
	"reconcile/observe/vmlist.go parseVMList json.Unmarshal":                     "maxVMList; pmxcfs of this host writes the file",
	"reconcile/pause/pause.go read json.Unmarshal":                               hostnote,
	"reconcile/recovery/note.go Read json.Unmarshal":                             hostnote,
	"reconcile/retry/retry.go Read json.Unmarshal":                               hostnote,
	"verify/armor.go unarmor pem.Decode":                                         "maxSignature, before it",
	"verify/cms.go onlyCertificate asn1.Unmarshal":                               signature,
	"verify/cms.go parseSignature asn1.Unmarshal":                                signature,
	"verify/cms.go readAttributes asn1.UnmarshalWithParams":                      signature,
	"verify/cms.go readSigned asn1.Unmarshal":                                    signature,
	"verify/cms.go readUnsigned asn1.Unmarshal":                                  signature,
	"verify/cms.go uniqueValues asn1.Unmarshal":                                  signature,
	"verify/evidence.go parseBundle protojson.Unmarshal":                         "MaxEvidence: 64 KiB",
	"verify/log_entry.go parseLogEntry proto.Unmarshal":                          signature,
	"verify/trusted_root.go parseTrustedRoot root.NewTrustedRootFromJSON":        host,
}

// TestDecodersAreBounded lists the decoders in the programs, and fails for one without a bound. A decoder is bounded if it is JSON.Unmarshal of this package,
// or if io.LimitReader or http.MaxBytesReader stands in its argument. Every other one needs a row in the table that says what bounds bytes, elements, depth and time.
func TestDecodersAreBounded(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	found := map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || isForTests(path)):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range unbounded(file) {
			found[filepath.ToSlash(name)+" "+at]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Errorf("found %d decoders, want many: the walk has missed the source", len(found))
	}
	for _, at := range slices.Sorted(maps.Keys(found)) {
		if reviewed[at] == "" {
			t.Errorf("%q decodes without a bound that this test sees: use bounds.JSON.Unmarshal or io.LimitReader, or add what bounds it to the table", at)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(reviewed)) {
		if found[at] == 0 {
			t.Errorf("%q is in the table and not in the source", at)
		}
	}
}

// isForTests reports whether a folder has only code that no user runs against foreign input, such as the simulator.
func isForTests(path string) bool {
	path = filepath.ToSlash(path)
	for _, folder := range []string{
		"/cmd/demo", "/cmd/pvesim", "/findings", "/tools", "/test", "/internal/pvesim", "/internal/sigtest", "/internal/gittest", "/internal/tuftest", "/internal/promtest",
		"/internal/recordings", "/internal/sandbox", "/cmd/sandbox", "/internal/etcdtest", "/internal/gooverlay", "/internal/traces/collectortest", "/internal/comment/forgetest",
		"/internal/racecheck", "/internal/fulldisk",
	} {
		if strings.HasSuffix(path, folder) {
			return true
		}
	}
	return strings.HasSuffix(path, "/testdata")
}

// unbounded returns the decoders of a file as "function import.Name".
func unbounded(file *ast.File) []string {
	imports := map[string]string{}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil || decoders[path] == nil {
			continue
		}
		parts := strings.Split(path, "/")
		name := parts[len(parts)-1]
		if strings.HasPrefix(name, "yaml.") {
			name = "yaml"
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = path
	}
	var found []string
	for _, d := range file.Decls {
		within := "var"
		if f, isFunc := d.(*ast.FuncDecl); isFunc {
			within = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			selector, isSelector := n.(*ast.SelectorExpr)
			if call, isCall := n.(*ast.CallExpr); isCall {
				if selector, isSelector = call.Fun.(*ast.SelectorExpr); isSelector && isDecoder(imports, selector) && slices.ContainsFunc(call.Args, isLimited) {
					return false
				}
				return true
			}
			if isSelector && isDecoder(imports, selector) {
				found = append(found, within+" "+selector.X.(*ast.Ident).Name+"."+selector.Sel.Name)
			}
			return true
		})
	}
	return found
}

// isDecoder reports whether an expression is a function of the table of decoders, called or not.
func isDecoder(imports map[string]string, s *ast.SelectorExpr) bool {
	from, isName := s.X.(*ast.Ident)
	if !isName || imports[from.Name] == "" {
		return false
	}
	return slices.ContainsFunc(decoders[imports[from.Name]], func(name string) bool {
		prefix, any := strings.CutSuffix(name, "*")
		return any && ast.IsExported(s.Sel.Name) && strings.HasPrefix(s.Sel.Name, prefix) || name == s.Sel.Name
	})
}

// isLimited reports whether an argument is a call of a function that limits bytes.
func isLimited(arg ast.Expr) bool {
	call, isCall := arg.(*ast.CallExpr)
	if !isCall {
		return false
	}
	s, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector {
		return false
	}
	from, isName := s.X.(*ast.Ident)
	return isName && (from.Name == "io" && s.Sel.Name == "LimitReader" || from.Name == "http" && s.Sel.Name == "MaxBytesReader")
}

// TestUnboundedDecodersAreFound: the walk sees a decoder in each form in which one is written.
func TestUnboundedDecodersAreFound(t *testing.T) {
	t.Parallel()
	const head = "package p\nimport (\"encoding/json\"; \"io\"; y \"gopkg.in/yaml.v3\"; \"compress/gzip\"; \"net/http\")\n"
	for text, want := range map[string]string{
		"func f(b []byte) { _ = json.Unmarshal(b, nil) }":                                                  "f json.Unmarshal",
		"func f(r io.Reader) { _ = json.NewDecoder(r).Decode(nil) }":                                       "f json.NewDecoder",
		"func f(r io.Reader) { _, _ = io.ReadAll(r) }":                                                     "f io.ReadAll",
		"func f(r io.Reader) { _, _ = io.ReadAll(io.LimitReader(r, 9)) }":                                  "",
		"func f(w http.ResponseWriter, r *http.Request) { io.ReadAll(http.MaxBytesReader(w, r.Body, 9)) }": "",
		"func f(b []byte) { _ = y.Unmarshal(b, nil) }":                                                     "f y.Unmarshal",
		"var decode = json.Unmarshal":                                                                      "var json.Unmarshal",
		"func f(r io.Reader) { g, _ := gzip.NewReader(r); _ = g }":                                         "f gzip.NewReader",
		"func f(d []byte) { _ = json.Valid(d) }":                                                           "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", head+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(unbounded(file), ", "); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
