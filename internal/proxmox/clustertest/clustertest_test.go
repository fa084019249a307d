package clustertest_test

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/proxmox/clustertest"
	"gitops-agent/internal/pvesim"
)

const agentToken = "gitops@pve!agent"

// TestCluster runs the suite on the simulator, in process and over TLS, with the documented roles. It also runs the suite on the
// cluster that the environment names:
//
//	PVE_TEST_URL          https://host:8006
//	PVE_TEST_TOKEN_FILE   a file with user@realm!name=secret
//	PVE_TEST_VMIDS        9000-9099, none of them taken
//	PVE_TEST_STORAGE      storage of new disks
//	PVE_TEST_FINGERPRINT  SHA-256 of the server's certificate; or
//	PVE_TEST_CA_FILE      the CA that signs it; without both, the system's authorities
//
// and, for the tests that need more:
//
//	PVE_TEST_BRIDGE         of network devices; vmbr0
//	PVE_TEST_OTHER_STORAGE  storage to which disks move
//	PVE_TEST_TEMPLATE       of containers, local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst
//	PVE_TEST_ISO            an image, local:iso/tiny.iso
//	PVE_TEST_POOLS          two existing pools, lab-a,lab-b
//	PVE_TEST_BACKUPS        storage on which a small backup is made, and left
func TestCluster(t *testing.T) {
	t.Run("in_process", func(t *testing.T) {
		t.Parallel()
		sim := simulator(t, pvesim.Options{Guests: 8})
		options := proxmox.Options{Endpoints: []string{"https://pve1"}, Transport: sim.Transport(), TokenFile: file(t, sim.Token(agentToken))}
		clustertest.Run(t, simulated(t, sim, options))
	})
	t.Run("over_tls", func(t *testing.T) {
		t.Parallel()
		sim := simulator(t, pvesim.Options{Seed: 7, Version: "8.4.1"})
		url, certificate := serve(t, sim)
		options := proxmox.Options{Endpoints: []string{url}, CAFile: file(t, string(certificate.PEM)), TokenFile: file(t, sim.Token(agentToken))}
		clustertest.Run(t, simulated(t, sim, options))
	})
	if url := os.Getenv("PVE_TEST_URL"); url != "" {
		t.Run("real", func(t *testing.T) { clustertest.Run(t, real(t, url)) })
	}
}

// simulated returns a target that lacks nothing.
func simulated(t *testing.T, sim *pvesim.Sim, options proxmox.Options) clustertest.Target {
	t.Helper()
	target := target(t, options)
	target.Storage, target.OtherStorage, target.Bridge = "local-lvm", "local", "vmbr0"
	target.Backups = "local"
	target.Template, target.ISO, target.Pools = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", "local:iso/tiny.iso", [2]string{"lab-a", "lab-b"}
	target.First, target.Last = 9000, 9029
	target.IgnoreShutdown, target.LockTimeout = sim.IgnoreShutdown, lockTimeout
	target.Lacks = func(t *testing.T, what string) {
		t.Helper()
		t.Fatalf("the simulator has no %s", what)
	}
	for volume, size := range map[string]int64{target.Template: 120 << 20, target.ISO: 17 << 20} {
		if err := sim.AddVolume(volume, size); err != nil {
			t.Fatal(err)
		}
	}
	for _, pool := range target.Pools {
		sim.AddPool(pool, "")
	}
	return target
}

// real returns the target that the environment names.
func real(t *testing.T, url string) clustertest.Target {
	t.Helper()
	options := proxmox.Options{Endpoints: []string{url}, TokenFile: os.Getenv("PVE_TEST_TOKEN_FILE"), CAFile: os.Getenv("PVE_TEST_CA_FILE")}
	if pin := os.Getenv("PVE_TEST_FINGERPRINT"); pin != "" {
		options.Fingerprints = []string{pin}
	}
	target := target(t, options)
	if _, err := fmt.Sscanf(os.Getenv("PVE_TEST_VMIDS"), "%d-%d", &target.First, &target.Last); err != nil {
		t.Fatalf("PVE_TEST_VMIDS: got %q, want 9000-9099", os.Getenv("PVE_TEST_VMIDS"))
	}
	target.Storage, target.OtherStorage = os.Getenv("PVE_TEST_STORAGE"), os.Getenv("PVE_TEST_OTHER_STORAGE")
	target.Template, target.ISO = os.Getenv("PVE_TEST_TEMPLATE"), os.Getenv("PVE_TEST_ISO")
	target.Bridge = cmp.Or(os.Getenv("PVE_TEST_BRIDGE"), "vmbr0")
	target.Backups = os.Getenv("PVE_TEST_BACKUPS")
	if first, second, two := strings.Cut(os.Getenv("PVE_TEST_POOLS"), ","); two {
		target.Pools = [2]string{first, second}
	}
	return target
}

// lockTimeout is how long a simulator waits for a guest's lock.
const lockTimeout = 200 * time.Millisecond

// simulator returns a simulator of two nodes whose agent has the documented role. At the end of the test the simulator must report no violation,
// and must have no guest of the suite.
func simulator(t *testing.T, options pvesim.Options) *pvesim.Sim {
	t.Helper()
	options.Nodes, options.LockTimeout, options.TaskTime = []string{"pve1", "pve2"}, lockTimeout, time.Microsecond
	sim := pvesim.New(documented(t, options))
	before := len(sim.Guests())
	t.Cleanup(func() {
		sim.Close()
		for _, violation := range sim.Violations() {
			t.Errorf("got violation %s, want none", violation)
		}
		if got := sim.Guests(); len(got) != before {
			t.Errorf("got %d guests at the end, want %d as at the start: %v", len(got), before, got)
		}
	})
	return sim
}

// serve serves a simulator on loopback.
func serve(t *testing.T, sim *pvesim.Sim) (url string, certificate *pvesim.Certificate) {
	t.Helper()
	certificate, err := pvesim.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- sim.Serve(t.Context(), listener, certificate.Config) }()
	t.Cleanup(func() { // the test's context has ended
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "https://" + listener.Addr().String(), certificate
}

// target connects to a cluster and finds its nodes.
func target(t *testing.T, options proxmox.Options) clustertest.Target {
	t.Helper()
	cluster := connect(t, options)
	nodes, err := cluster.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	target := clustertest.Target{Cluster: cluster}
	for _, node := range nodes {
		if node.Online {
			target.Nodes = append(target.Nodes, node.Name)
		}
	}
	options.TokenFile = file(t, wrongSecret(t, options.TokenFile))
	target.Denied = connect(t, options)
	return target
}

func connect(t *testing.T, options proxmox.Options) *proxmox.Client {
	t.Helper()
	client, err := proxmox.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// wrongSecret returns the token of a file with a wrong secret.
func wrongSecret(t *testing.T, path string) string {
	t.Helper()
	token, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(string(token), "=")
	return id + "=00000000-0000-4000-8000-000000000000"
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
