package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/secret"
	"gitops-agent/verify"
)

// handMade is the vmid of the guest that the examples adopt.
const handMade = 105

// The image that the tree company names.
const (
	debianURL = "https://cloud.debian.org/images/cloud/trixie/20250924-2245/debian-13-genericcloud-amd64-20250924-2245.qcow2"
	debianSum = "4b78f42b31a1fca6ceff55b48f00ce4c08e05bd12c5f7ec8f3d7d2e0e1b2a0f3c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4"
)

// furnish gives a simulated cluster what the examples refer to: a template, images, and a guest made by hand.
func furnish(sim *pvesim.Sim) error {
	_, err := sim.AddTemplate(pvesim.Guest{VMID: 9000, Config: strings.Join([]string{
		"name: tmpl-debian-12", "memory: 1024", "cores: 1", "ostype: l26", "scsihw: virtio-scsi-single", "net0: virtio,bridge=vmbr0",
		"scsi0: local-lvm:vm-9000-disk-0,size=3G", "ide2: local-lvm:vm-9000-cloudinit,media=cdrom", "agent: 1", "",
	}, "\n")})
	_, err2 := sim.AddVM(pvesim.Guest{VMID: handMade, Running: true, Config: strings.Join([]string{
		"name: erp", "memory: 8192", "cores: 4", "onboot: 0", "net0: virtio=BC:24:11:00:01:05,bridge=vmbr0",
		"scsi0: local-lvm:vm-105-disk-0,size=80G", "description: made by hand years ago", "",
	}, "\n")})
	sim.Publish(debianURL, pvesim.WebFile{Size: 400 << 20, Format: "qcow2", VirtualSize: 3 << 30, Checksums: map[string]string{"sha512": debianSum}})
	for _, volume := range []string{
		"local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", "local:import/debian-12-genericcloud-amd64.qcow2", "local:import/haos.qcow2",
		"local:iso/windows-11.iso", "local:iso/windows-server-2025.iso", "local:iso/virtio-win.iso",
		"local:snippets/k3s-server.yaml", "local:snippets/k3s-agent.yaml",
	} {
		err = errors.Join(err, sim.AddVolume(volume, 1<<30))
	}
	return errors.Join(err, err2)
}

// TestExamplesConverge gives each tree of the examples to an agent, signed, on a cluster that has no guest of them: all of them are
// made, and afterwards nothing is left to write. The tree encrypted needs a key, and ports
// has guests that wait for root: the test of the sandbox lets them converge.
func TestExamplesConverge(t *testing.T) {
	t.Parallel()
	for name := range exampleTrees {
		if name == "encrypted" || name == "ports" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { convergeTree(t, exampleTree(t, name), policiesFor(t, name)) })
		})
	}
}

// policiesFor returns the policies of the host to which a tree is given: the tree company keeps all of examples/policies, which hold nothing of it.
func policiesFor(t *testing.T, tree string) *policy.Set {
	t.Helper()
	if tree != "company" {
		return nil
	}
	names, err := filepath.Glob("../../examples/policies/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("got %d files with policies (%v), want some", len(names), err)
	}
	var files []manifest.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, manifest.File{Path: name, Data: data})
	}
	rules, err := manifest.ParsePolicies(files)
	if err != nil {
		t.Fatal(err)
	}
	set, problems := policy.Compile(rules)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

func convergeTree(t *testing.T, files []manifest.File, rules *policy.Set) {
	set, err := manifest.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	sim := pvesim.New(pvesim.Options{TaskTime: time.Second, Nodes: []string{"pve1", "pve2", "pve3"}, Storages: []pvesim.Storage{
		{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
		{ID: "local-lvm", Type: "lvmthin", Content: "images,rootdir"},
		{ID: "images", Type: "dir", Path: "/mnt/pve/images", Content: "import", Shared: true},
		{ID: "nfs", Type: "dir", Path: "/mnt/pve/nfs", Content: "import,backup", Shared: true},
		{ID: "san", Type: "dir", Path: "/mnt/pve/san", Content: "images", Shared: true},
	}})
	defer sim.Close()
	from := pushTree(t, files)
	from.rules = rules
	engine, closeAll := newExampleEngine(t, sim, set.Cluster.Name, from)
	defer closeAll()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for range 1200 {
		if time.Sleep(time.Second); engine.Report().Converged {
			break
		}
	}
	report := engine.Report()
	if all := len(set.Guests) + len(set.Objects) + len(set.Images); !report.Converged || len(report.Guests) != all {
		t.Fatalf("got %d objects, converged %t, want all %d: %s", len(report.Guests), report.Converged, all, troubles(report))
	}
	for _, g := range report.Guests {
		if g.VMID == 0 { // no guest: that it is in sync shows that it was made
			continue
		}
		want := 1
		if g.VMID == handMade {
			want = 0
		}
		if got := wasMade(sim, g.VMID); got != want {
			t.Errorf("%s: got it made %d times, want %d", g.Label(), got, want)
		}
	}
	sim.ResetCounters()
	time.Sleep(30 * time.Minute)
	if counters := sim.Counters(); counters.Writes != 0 || !engine.Report().Converged {
		t.Errorf("got %d writes to the converged cluster, want none: %v\n%s", counters.Writes, counters.Routes, troubles(engine.Report()))
	}
}

// wasMade returns how often the simulator created a guest of the report, by any call.
func wasMade(sim *pvesim.Sim, vmid int) int {
	return sim.Effects(vmid, pvesim.Created) + sim.Effects(vmid, pvesim.Cloned)
}

// troubles returns the problems of guests.
func troubles(r report.Report) string {
	var b strings.Builder
	if r.Source.Refused != nil {
		fmt.Fprintf(&b, "\nrefused: %s", r.Source.Refused.Error)
	}
	for _, g := range r.Guests {
		for _, c := range g.Conditions {
			fmt.Fprintf(&b, "\n%s %s %s: %s", g.Label(), c.Type, c.Reason, c.Message)
		}
		for _, h := range g.Held {
			fmt.Fprintf(&b, "\n%s held: %s", g.Label(), h.Message)
		}
	}
	return b.String()
}

// pushed is a repository with one commit, and the policy that accepts it.
type pushed struct {
	dir    string
	policy *verify.Policy
	rules  *policy.Set // of the agent's host; nil without policies
}

// pushTree commits files with their folders, signed.
func pushTree(t *testing.T, files []manifest.File) pushed {
	t.Helper()
	alice := sigtest.Identity{Subject: "alice@example.test", Issuer: "https://issuer.test"}
	sig, err := sigtest.New(sigtest.Options{Name: "examples", Seed: "examples", From: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), CAKey: sigtest.P256} /* a bubble begins in 2000 */)
	if err != nil {
		t.Fatal(err)
	}
	repo := gittest.New(t)
	for _, f := range files {
		repo.Files[f.Path] = string(f.Data)
	}
	repo.Push(sig, alice, "examples")
	root, err := sig.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := verify.NewPolicy(verify.Options{
		TrustedRoot: root, Branch: "main", Binding: verify.BindingNone, TrustOnFirstUse: true,
		Signers: []verify.Signer{{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []verify.Role{verify.RoleChange}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return pushed{dir: repo.Dir, policy: policy}
}

// newExampleEngine returns an agent's engine with everything real around it but the cluster, which is furnished.
func newExampleEngine(t *testing.T, sim *pvesim.Sim, cluster string, from pushed) (engine *reconcile.Engine, closeAll func()) {
	t.Helper()
	if err := furnish(sim); err != nil {
		t.Fatal(err)
	}
	servers, err := image.ParseServers([]string{"cloud.debian.org"})
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	token := filepath.Join(state, "token")
	if err := os.WriteFile(token, []byte(sim.Token("root@pam!full")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := proxmox.New(proxmox.Options{Endpoints: []string{"https://pve1.lab.test:8006"}, TokenFile: token, Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(journal.Options{Dir: filepath.Join(state, "journal")})
	if err != nil {
		t.Fatal(err)
	}
	source, err := gitsource.Open(gitsource.Options{
		Dir: filepath.Join(state, "repository"), Branch: "main", Remotes: []gitsource.Remote{{URL: "file://" + from.dir}}, UploadPack: gittest.UploadPack,
	})
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{"files-root": "a password", "windows-administrator": "another one"}
	engine = reconcile.NewEngine(reconcile.Options{
		Cluster: client, Policy: func() (*verify.Policy, error) { return from.policy, nil }, Branch: "main", Floors: client,
		Scope: intake.Scope{Cluster: cluster}, Note: intake.RewriteNote{Dir: state}, Journal: j, Source: source,
		Health: health.Options{Ping: client.PingAgent}, AllowedServer: servers.Allow, Rules: from.rules,
		Secrets: secret.Source{Key: []byte("a key of the tests, of 32 bytes."), Read: func(name string) (string, error) {
			if !slices.Contains(slices.Collect(maps.Keys(secrets)), name) {
				return "", fmt.Errorf("no secret %s", name)
			}
			return secrets[name], nil
		}},
	})
	return engine, func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		client.Close()
	}
}
