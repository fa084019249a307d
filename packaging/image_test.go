//go:build integration

package packaging

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gitops-agent/internal/gittest"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
)

// container is the image, unpacked, with what umoci makes of its config for a runtime.
type container struct {
	*testing.T
	root string
	spec struct {
		Process struct {
			Args, Env []string
			Cwd       string
			User      struct{ UID, GID uint32 }
		}
	}
}

// unpack reads the image with skopeo, which selects the platform, and with umoci.
func unpack(t *testing.T, archive string) container {
	t.Helper()
	layout := filepath.Join(t.TempDir(), "layout")
	run(t, "skopeo", "copy", "--insecure-policy", "--quiet", "oci-archive:"+archive, "oci:"+layout+":this")
	unpacked := filepath.Join(t.TempDir(), "container")
	run(t, "umoci", "unpack", "--image", layout+":this", unpacked)
	text, err := os.ReadFile(filepath.Join(unpacked, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := container{T: t, root: filepath.Join(unpacked, "rootfs")}
	if err := json.Unmarshal(text, &c.spec); err != nil {
		t.Fatal(err)
	}
	return c
}

// mount adds a file system to the container, as its runtime does.
func (c container) mount(at string, args ...string) {
	c.Helper()
	if err := os.MkdirAll(at, 0o755); err != nil {
		c.Fatal(err)
	}
	run(c.T, "mount", append(args, at)...)
	c.Cleanup(func() {
		if out, err := exec.CommandContext(context.WithoutCancel(c.Context()), "umount", at).CombinedOutput(); err != nil {
			c.Errorf("umount %s: %v\n%s", at, err, out)
		}
	})
}

// run runs the program of the image with the image's user, in the root of the container, with arguments in place of its command.
func (c container) run(args ...string) (string, error) {
	entrypoint := c.spec.Process.Args[0]
	cmd := exec.CommandContext(c.Context(), entrypoint, args...)
	cmd.Dir, cmd.Env = c.spec.Process.Cwd, c.spec.Process.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: c.root, Credential: &syscall.Credential{Uid: c.spec.Process.User.UID, Gid: c.spec.Process.User.GID},
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// image runs the image as its own user on a file system that cannot be written, except for the volume of the state directory. Needs root.
func (r release) image(t *testing.T) {
	archive := r.path("gitops-agent_VERSION_image.tar")
	var config struct {
		Config struct {
			User    string
			Volumes map[string]struct{}
			Labels  map[string]string
		}
	}
	if err := json.Unmarshal(run(t, "skopeo", "inspect", "--config", "oci-archive:"+archive), &config); err != nil {
		t.Fatal(err)
	}
	if got := config.Config.Labels["org.opencontainers.image.version"]; got != version {
		t.Errorf("got label of version %q, want %s", got, version)
	}
	c := unpack(t, archive)
	if strings.Join(c.spec.Process.Args, " ") != "/usr/bin/gitops-agent run" || c.spec.Process.User.UID != 65532 || c.spec.Process.User.GID != 65532 {
		t.Errorf("got %v as %+v, want the agent's run as a user without rights", c.spec.Process.Args, c.spec.Process.User)
	}
	if out, _ := exec.CommandContext(t.Context(), "ldd", filepath.Join(c.root, "usr/bin/gitops-agent")).CombinedOutput(); !strings.Contains(string(out), "not a dynamic executable") {
		t.Errorf("got %s, want a static program", out)
	}
	if info, err := os.Stat(filepath.Join(c.root, "var/lib/gitops-agent")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v and %v, want a state directory that only the agent reads", info, err)
	}
	run(t, "openssl", "verify", "-CAfile", filepath.Join(c.root, "etc/ssl/certs/ca-certificates.crt"), filepath.Join(c.root, "etc/ssl/certs/ca-certificates.crt"))

	sim := c.configure()
	c.mount(c.root, "--bind", c.root)
	run(t, "mount", "-o", "remount,bind,ro", c.root)
	for volume := range config.Config.Volumes {
		c.mount(filepath.Join(c.root, volume), "-t", "tmpfs", "-o", fmt.Sprintf("mode=0700,uid=%d,gid=%d", c.spec.Process.User.UID, c.spec.Process.User.GID), "tmpfs")
	}
	for _, args := range [][]string{{"version"}, {"config", "check"}, {"run", "--once"}} {
		if out, err := c.run(args...); err != nil {
			t.Fatalf("gitops-agent %v in the image: %v\n%s", args, err, out)
		}
	}
	if sim.Config(200) == "" {
		t.Error("got no guest 200, want the one of the manifest")
	}
}

// configure writes the files that a person mounts, for a simulated cluster and a signed repository.
func (c container) configure() *pvesim.Sim {
	c.Helper()
	sim := pvesim.New(pvesim.Options{})
	c.Cleanup(sim.Close)
	cert, err := pvesim.NewCertificate()
	if err != nil {
		c.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(c.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	go func() { _ = sim.Serve(c.Context(), listener, cert.Config) }() // its error is that it was stopped
	sig, err := sigtest.New(sigtest.Options{Name: "image"})
	if err != nil {
		c.Fatal(err)
	}
	trusted, err := sig.TrustedRoot()
	if err != nil {
		c.Fatal(err)
	}
	alice := sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}
	repo := gittest.New(c)
	repo.Files["cluster.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n"
	repo.Files["web.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web}\n" +
		"spec: {vmid: 200, node: pve1, source: {blank: {}}, memory: {size: 512Mi}}\n"
	repo.Push(sig, alice, "web")
	folder := filepath.Join(c.root, "etc/gitops-agent")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		c.Fatal(err)
	}
	forge := c.serve(repo)
	for name, text := range map[string]string{
		"forge.pem":         string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: forge.Certificate().Raw})),
		"trusted_root.json": string(trusted),
		"token":             sim.Token("root@pam!full") + "\n",
		"config.yaml": fmt.Sprintf(`
cluster: {name: home}
source:
  remotes: [{url: "%s/%s", ca_file: /etc/gitops-agent/forge.pem}]
trust:
  trusted_root_file: /etc/gitops-agent/trusted_root.json
  signers: [{name: alice, issuer: %q, subject: %q, may: [change]}]
  binding: none
  trust_on_first_use: true
proxmox:
  endpoints: ["https://%s"]
  token_file: /etc/gitops-agent/token
  fingerprints: [%q]
`, forge.URL, filepath.Base(repo.Dir), alice.Issuer, alice.Subject, listener.Addr(), cert.Fingerprint),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			c.Fatal(err)
		}
	}
	run(c.T, "chown", "--recursive", fmt.Sprintf("%d:%d", c.spec.Process.User.UID, c.spec.Process.User.GID), folder)
	return sim
}

// serve serves a repository with TLS, since file remotes need git, which the image does not contain.
func (c container) serve(repo *gittest.Repo) *httptest.Server {
	c.Helper()
	programs := strings.TrimSpace(string(run(c.T, "git", "--exec-path")))
	forge := httptest.NewTLSServer(&cgi.Handler{
		Path: filepath.Join(programs, "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(repo.Dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull},
	})
	c.Cleanup(forge.Close)
	return forge
}
