package clustertest_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/proxmox/clustertest"
	"gitops-agent/internal/pvesim"
)

const agentToken = "gitops@pve!agent"

// TestCluster runs the suite on the simulator, in process and over TLS, and on the cluster that the environment offers, if any:
//
//	PVE_TEST_URL          https://host:8006
//	PVE_TEST_TOKEN_FILE   a file with user@realm!name=secret
//	PVE_TEST_VMIDS        9000-9099, none of them taken
//	PVE_TEST_STORAGE      where disks are allocated
//	PVE_TEST_FINGERPRINT  SHA-256 of the server's certificate; or
//	PVE_TEST_CA_FILE      the CA that signs it; or neither, for the system's authorities
func TestCluster(t *testing.T) {
	t.Run("in_process", func(t *testing.T) {
		sim := simulator(t, pvesim.Options{Guests: 8})
		options := proxmox.Options{Endpoints: []string{"https://pve1"}, Transport: sim.Transport(), TokenFile: file(t, sim.Token(agentToken))}
		clustertest.Run(t, target(t, options, "local-lvm", 9000, 9003))
	})
	t.Run("over_tls", func(t *testing.T) {
		sim := simulator(t, pvesim.Options{Seed: 7})
		url, certificate := serve(t, sim)
		options := proxmox.Options{Endpoints: []string{url}, CAFile: file(t, string(certificate.PEM)), TokenFile: file(t, sim.Token(agentToken))}
		clustertest.Run(t, target(t, options, "local", 9000, 9003))
	})
	if url := os.Getenv("PVE_TEST_URL"); url != "" {
		t.Run("real", func(t *testing.T) { testReal(t, url) })
	}
}

func testReal(t *testing.T, url string) {
	var first, last int
	if _, err := fmt.Sscanf(os.Getenv("PVE_TEST_VMIDS"), "%d-%d", &first, &last); err != nil {
		t.Fatalf("PVE_TEST_VMIDS: got %q, want 9000-9099", os.Getenv("PVE_TEST_VMIDS"))
	}
	options := proxmox.Options{Endpoints: []string{url}, TokenFile: os.Getenv("PVE_TEST_TOKEN_FILE"), CAFile: os.Getenv("PVE_TEST_CA_FILE")}
	if pin := os.Getenv("PVE_TEST_FINGERPRINT"); pin != "" {
		options.Fingerprints = []string{pin}
	}
	clustertest.Run(t, target(t, options, os.Getenv("PVE_TEST_STORAGE"), first, last))
}

// simulator returns a simulator that finds nothing wrong by the time the test has ended.
func simulator(t *testing.T, options pvesim.Options) *pvesim.Sim {
	t.Helper()
	sim := pvesim.New(options)
	t.Cleanup(func() {
		sim.Close()
		for _, violation := range sim.Violations() {
			t.Errorf("got violation %s, want none", violation)
		}
	})
	return sim
}

// serve offers a simulator on loopback.
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
	t.Cleanup(func() { // the test's context has ended by now
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "https://" + listener.Addr().String(), certificate
}

// target connects to a cluster and takes its first online node.
func target(t *testing.T, options proxmox.Options, storage string, first, last int) clustertest.Target {
	t.Helper()
	cluster := connect(t, options)
	nodes, err := cluster.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	target := clustertest.Target{Cluster: cluster, Storage: storage, First: first, Last: last}
	for _, node := range nodes {
		if node.Online && target.Node == "" {
			target.Node = node.Name
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

// wrongSecret returns the token of a file with another secret.
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
