//go:build integration

package renovate

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gitops-agent/examples/manifests"

	"github.com/google/go-cmp/cmp"
)

// Digests of what the server has.
var (
	newSHA512 = strings.Repeat("5", 128)
	newSHA256 = strings.Repeat("2", 64)
	newImage  = "sha256:" + strings.Repeat("d", 64)
)

// update is what Renovate found about a dependency.
type update struct{ Value, Digest string }

// TestRenovate lets Renovate look up every Image of the example manifests, an Image with a SHA-256, and an OCI image in a comment.
func TestRenovate(t *testing.T) {
	program, err := exec.LookPath("renovate")
	if err != nil {
		t.Fatalf("%v: npm install --ignore-scripts renovate@37.440.7, and put its node_modules/.bin into PATH", err)
	}
	server := newServer(t)
	repo := t.TempDir()
	address := strings.TrimPrefix(server.URL, "https://")
	want := map[string]update{"noble-server-cloudimg-amd64.img": {Digest: newSHA256}, address + "/library/nginx": {"1.29.2", newImage}}
	for _, name := range images(t) {
		text := string(read(t, name))
		for _, m := range regexp.MustCompile(`url: https://\S+/(\S+)`).FindAllStringSubmatch(text, -1) {
			want[m[1]] = update{Digest: newSHA512}
		}
		write(t, filepath.Join(repo, name), regexp.MustCompile(`https://[^/\s]+`).ReplaceAllString(text, server.URL))
	}
	if len(want) < 3 {
		t.Fatal("got no Image in the examples, want one")
	}
	write(t, filepath.Join(repo, "ubuntu.yaml"), fmt.Sprintf(`apiVersion: proxmox.gitops/v1alpha1
kind: Image
metadata: {name: noble}
spec:
  url: %s/noble/current/noble-server-cloudimg-amd64.img
  checksum: sha256:%064d
  storage: local
---
# oci: %s/library/nginx:1.29.1@sha256:%064d
`, server.URL, 0, address, 0))
	config, err := os.ReadFile("../../examples/renovate/renovate.json")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(repo, "renovate.json"), string(config))
	git(t, repo, "init", "--quiet")
	git(t, repo, "add", ".")
	git(t, repo, "-c", "user.name=test", "-c", "user.email=test@lab.test", "commit", "--quiet", "-m", "examples")

	if diff := cmp.Diff(want, run(t, program, repo, server)); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
}

// newServer has the sums of every folder, and a registry with one image.
func newServer(t *testing.T) *httptest.Server {
	t.Helper()
	reply := func(w http.ResponseWriter, kind, text string) {
		w.Header().Set("Content-Type", kind)
		_, _ = fmt.Fprint(w, text)
	}
	const index = "application/vnd.oci.image.index.v1+json"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		folder, file := filepath.Split(r.URL.Path)
		switch file {
		case "SHA512SUMS": // the name of the file is in the folder's: .../debian-13-...-DATE.qcow2 in .../DATE/
			date := filepath.Base(folder)
			reply(w, "text/plain", fmt.Sprintf("%0128d  other.qcow2\n%s  debian-13-genericcloud-amd64-%s.qcow2\n", 0, newSHA512, date))
		case "SHA256SUMS":
			reply(w, "text/plain", fmt.Sprintf("%064d *other.img\n%s *noble-server-cloudimg-amd64.img\n", 0, newSHA256))
		default:
			http.NotFound(w, r)
		}
	})
	mux.HandleFunc("GET /v2/", func(w http.ResponseWriter, _ *http.Request) { reply(w, "application/json", "{}") })
	mux.HandleFunc("GET /v2/library/nginx/tags/list", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, "application/json", `{"name":"library/nginx","tags":["1.29.1","1.29.2"]}`)
	})
	mux.HandleFunc("GET /v2/library/nginx/manifests/{tag}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Docker-Content-Digest", newImage)
		reply(w, index, `{"schemaVersion":2,"mediaType":"`+index+`","manifests":[]}`)
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	return server
}

// images returns the names of the example manifests that contain an Image.
func images(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*/*.yaml", "*/*/*.yaml"} {
		found, err := filepath.Glob(filepath.Join("../../examples/manifests", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../examples/manifests/")
			if bytes.Contains(read(t, name), []byte("\nkind: Image\n")) {
				names = append(names, name)
			}
		}
	}
	return names
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := manifests.Files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// run returns what Renovate would change, by the names of the dependencies.
func run(t *testing.T, program, repo string, server *httptest.Server) map[string]update {
	t.Helper()
	dir := t.TempDir()
	authority := filepath.Join(dir, "ca.pem")
	write(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	cmd := exec.CommandContext(t.Context(), program, "--platform=local")
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), "LOG_LEVEL=debug", "LOG_FORMAT=json", "RENOVATE_BASE_DIR="+dir, "HOME="+dir, "NODE_EXTRA_CA_CERTS="+authority)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := map[string]update{}
	for line := range bytes.Lines(out) {
		var entry struct {
			Msg    string
			Config struct {
				Regex []struct {
					Deps []struct {
						DepName string
						Updates []struct{ UpdateType, NewValue, NewDigest string }
					}
				}
			}
		}
		if json.Unmarshal(line, &entry) != nil || entry.Msg != "packageFiles with updates" {
			continue
		}
		for _, file := range entry.Config.Regex {
			for _, dep := range file.Deps {
				for _, u := range dep.Updates {
					if u.UpdateType == "digest" {
						u.NewValue = ""
					}
					if _, twice := found[dep.DepName]; !twice || u.NewValue != "" {
						found[dep.DepName] = update{u.NewValue, u.NewDigest}
					}
				}
			}
		}
	}
	if len(found) == 0 {
		t.Logf("%s", out)
	}
	return found
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
