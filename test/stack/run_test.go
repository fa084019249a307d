//go:build integration

package stack

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gitops-agent/internal/pvesim"
)

// A cluster is a simulated Proxmox VE with an agent's config beside it.
type cluster struct {
	t   *testing.T
	sim *pvesim.Sim
	dir string
}

// newCluster serves an empty cluster until the end of the test. The agent trusts alice and the release workflow of a Sigstore. A
// workflow's certificate must name the repository and the ref, and a commit must name its target.
func newCluster(t *testing.T, s *sigstore, r *repository) *cluster {
	t.Helper()
	c := &cluster{t: t, sim: pvesim.New(pvesim.Options{}), dir: t.TempDir()}
	certificate, err := pvesim.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.sim.Serve(ctx, listener, certificate.Config); err != nil {
			t.Errorf("serve cluster: %v", err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	c.write("token", c.sim.Token("gitops@pve!agent")+"\n")
	alice, release := s.alice(), s.release()
	c.write("config.yaml", fmt.Sprintf(`cluster: {name: home}
source:
  remotes: [{url: "file://%s"}]
trust:
  trusted_root_file: %s
  signers:
    - {name: alice, issuer: %q, subject: %q, may: [change]}
    - name: release
      issuer: %q
      subject: %q
      may: [change]
      extensions: {source_repository_uri: %q, source_repository_ref: refs/heads/main, source_repository_identifier: "414510697"}
  binding: trailer
  trust_on_first_use: true
  timestamps: required
proxmox:
  endpoints: ["https://%s"]
  token_file: %s
  fingerprints: [%q]
state_dir: %s
listen: "127.0.0.1:0"
`, r.dir, s.path("trusted_root.json"), alice.Issuer, alice.Subject, release.Issuer, release.Subject, release.Extensions.SourceRepositoryURI,
		listener.Addr(), c.path("token"), certificate.Fingerprint, c.path("state")))
	return c
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) write(name, content string) {
	c.t.Helper()
	if err := os.WriteFile(c.path(name), []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// run runs one cycle of the agent, and expects its exit status and texts in its output.
func (c *cluster) run(status int, wants ...string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), agent.file(), "run", "--once", "--config", c.path("config.yaml"))
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		c.t.Fatalf("run gitops-agent: %v", err)
	}
	if got := cmd.ProcessState.ExitCode(); got != status {
		c.t.Errorf("gitops-agent run --once: got exit status %d, want %d\n%s", got, status, out)
	}
	for _, want := range wants {
		if !strings.Contains(string(out), want) {
			c.t.Errorf("gitops-agent run --once: got\n%s\nwant %q", out, want)
		}
	}
}

// cores expects the cluster's only guest to have the given number of cores.
func (c *cluster) cores(want string) {
	c.t.Helper()
	if got := c.sim.Value(201, "cores"); got != want {
		c.t.Errorf("cores of the guest: got %q, want %q", got, want)
	}
}

// manifests writes the manifests of a cluster with one guest.
func (r *repository) manifests(cores string) {
	r.t.Helper()
	r.change("cluster.yaml", "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\n")
	r.change("web.yaml", "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-1}\n"+
		"spec: {vmid: 201, node: pve1, source: {blank: {}}, cpu: {cores: "+cores+"}}\n")
}

// push makes a signed commit of the manifests on the branch that the agent follows.
func (r *repository) push(message string) {
	r.t.Helper()
	r.git("commit", "--quiet", "-m", message, "-m", trailer)
}

// TestAgentFollowsRealSignatures runs the agent on a branch that is signed with gitsign. Only the changes that the trusted
// person and the trusted workflow signed reach the cluster.
func TestAgentFollowsRealSignatures(t *testing.T) {
	s := startSigstore(t)
	r := newRepository(t).as(s, s.aliceLogsIn())
	c := newCluster(t, s, r)
	r.manifests("1")
	r.push("the first guest")
	c.run(0, "Cluster home: converged", "signed by alice@lab.test")
	c.cores("1")

	release := login{token: s.workflows.workflow("example/homelab", "release.yaml")}
	r.as(s, release).manifests("2")
	r.push("a release")
	c.run(0, "Cluster home: converged", "signed by "+s.release().Subject)
	c.cores("2")

	for who, refusal := range map[login]string{
		{token: s.people.person("mallory@lab.test")}:                     `got subject "mallory@lab.test"`,
		{token: s.workflows.workflow("mallory/homelab", "release.yaml")}: "wrong-identity",
		{token: s.people.person("alice@lab.test"), mode: "online"}:       "hint: git config gitsign.rekorMode offline",
		{token: s.people.person("alice@lab.test"), noTimestamp: true}:    "no-trusted-time",
	} {
		r.as(s, who).manifests("8")
		r.push("refused")
		c.sim.ResetCounters()
		c.run(4, "Cluster home: not converged", refusal)
		c.cores("2")
		if n := c.sim.Writes(); n != 0 {
			t.Errorf("%q: got %d writes, want none", refusal, n)
		}
		r.git("reset", "--quiet", "--hard", "HEAD~1")
	}

	r.as(s, s.aliceLogsIn()).manifests("4")
	r.push("after all the refusals")
	c.run(0, "Cluster home: converged")
	c.cores("4")
}
