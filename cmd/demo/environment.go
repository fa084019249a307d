package main

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gitops-agent/examples/manifests"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/metrics"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// waitLimit is how long a scenario waits for an expected state.
const waitLimit = 60 * time.Second

// environmentOptions are the flags of the command that concern the environment.
type environmentOptions struct {
	listen string
	log    io.Writer
}

// environment holds all parts of the demonstration: cluster, Sigstore, repository and agent.
type environment struct {
	ctx      context.Context //nolint:containedctx // the environment ends with it
	sim      *pvesim.Sim
	endpoint string
	repo     *repository
	agent    *agent.Agent
	dir      string
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu     sync.Mutex
	failed error // why the agent or the cluster ended early
}

func newEnvironment(ctx context.Context, opts environmentOptions) (*environment, error) {
	dir, err := os.MkdirTemp("", "gitops-agent-demo-")
	if err != nil {
		return nil, err
	}
	s := &environment{dir: dir}
	s.ctx, s.cancel = context.WithCancel(ctx)
	if err := s.open(opts); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *environment) open(opts environmentOptions) error {
	fingerprint, err := s.openCluster()
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := s.openSigstore(); err != nil {
		return fmt.Errorf("sigstore: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	files, err := fs.Sub(manifests.Files, "demo")
	if err != nil {
		return err
	}
	if s.repo, err = newRepository(s.ctx, s.dir, files, exe); err != nil {
		return fmt.Errorf("repository: %w", err)
	}
	if err := s.openAgent(opts, fingerprint); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	return nil
}

// openCluster starts the simulator with the objects that the example manifests name, and writes the token file.
func (s *environment) openCluster() (fingerprint string, err error) {
	s.sim = pvesim.New(pvesim.Options{TaskTime: 300 * time.Millisecond})
	if err := addGuests(s.sim); err != nil {
		return "", err
	}
	certificate, err := pvesim.NewCertificate()
	if err != nil {
		return "", err
	}
	listener, err := (&net.ListenConfig{}).Listen(s.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.endpoint = "https://" + listener.Addr().String()
	s.running.Go(func() { s.fail(s.sim.Serve(s.ctx, listener, certificate.Config)) })
	return certificate.Fingerprint, os.WriteFile(s.path("token"), []byte(s.sim.Token("root@pam!full")+"\n"), 0o600)
}

// addGuests adds a template, images and a virtual machine that was created by hand.
func addGuests(sim *pvesim.Sim) error {
	_, err := sim.AddTemplate(pvesim.Guest{VMID: 9000, Config: strings.Join([]string{
		"name: tmpl-debian-12", "memory: 1024", "cores: 1", "ostype: l26", "scsihw: virtio-scsi-single", "net0: virtio,bridge=vmbr0",
		"scsi0: local-lvm:vm-9000-disk-0,size=3G", "ide2: local-lvm:vm-9000-cloudinit,media=cdrom", "agent: 1", "",
	}, "\n")})
	_, err2 := sim.AddVM(pvesim.Guest{VMID: 105, Running: true, Config: strings.Join([]string{
		"name: erp", "memory: 8192", "cores: 4", "onboot: 0", "net0: virtio,bridge=vmbr0", "scsi0: local-lvm:vm-105-disk-0,size=80G",
		"description: created by hand", "",
	}, "\n")})
	return errors.Join(err, err2,
		sim.AddVolume("local:import/debian-12-genericcloud-amd64.qcow2", 2<<30),
		sim.AddVolume("local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", 120<<20),
	)
}

// openSigstore creates a Sigstore and saves it for the signing programs.
func (s *environment) openSigstore() error {
	marker := []pkix.Extension{verify.SandboxMarker()}
	sigstore, err := sigtest.New(sigtest.Options{Name: "demo", Extensions: map[string][]pkix.Extension{"ca-root": marker, "ca-intermediate": marker}})
	if err != nil {
		return err
	}
	if err := os.Mkdir(s.path("sigstore"), 0o700); err != nil {
		return err
	}
	return sigstore.Save(s.path("sigstore"))
}

func (s *environment) openAgent(opts environmentOptions, fingerprint string) error {
	config := agent.Config{
		Cluster: agent.ClusterConfig{Name: "home"},
		Source: agent.SourceConfig{
			Branch: "main", Remotes: []agent.RemoteConfig{{URL: "file://" + s.repo.bare}}, Poll: agent.Duration(time.Second),
		},
		Trust: agent.TrustConfig{
			TrustedRootFile: s.path("sigstore", sigtest.TrustedRootFile), Binding: "none", TrustOnFirstUse: true,
			Signers: []agent.SignerConfig{
				{Name: "alice", Issuer: issuer, Subject: alice, May: []string{"change", "operate"}},
				{Name: "olga", Issuer: issuer, Subject: olga, May: []string{"approve"}},
			},
		},
		Proxmox: agent.ProxmoxConfig{
			Endpoints: []string{s.endpoint}, TokenFile: s.path("token"), Fingerprints: []string{fingerprint},
			Tick: agent.Duration(time.Second), Resync: agent.Duration(2 * time.Second),
		},
		StateDir: s.path("state"), Listen: &opts.listen,
	}
	var err error
	s.agent, err = agent.New(s.ctx, agent.Options{
		Config: config.InSandbox(), Build: metrics.Build{Version: "demo", GoVersion: runtime.Version()}, Logger: slog.New(slog.NewTextHandler(opts.log, nil)),
	})
	if err != nil {
		return err
	}
	s.running.Go(func() { s.fail(s.agent.Run(s.ctx)) })
	return nil
}

func (s *environment) path(parts ...string) string {
	return filepath.Join(slices.Insert(parts, 0, s.dir)...)
}

func (s *environment) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && s.failed == nil {
		s.failed = err
	}
}

// waitFor waits for a condition, up to waitLimit. It returns an error if the agent or the cluster has failed.
func (s *environment) waitFor(what string, condition func() bool) error {
	deadline := time.Now().Add(waitLimit)
	for !condition() {
		s.mu.Lock()
		failed := s.failed
		s.mu.Unlock()
		switch {
		case failed != nil:
			return failed
		case s.ctx.Err() != nil:
			return s.ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("waited %s for %s without result; the agent reports: %s", waitLimit, what, summary(s.agent.Report()))
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// summary returns the problems of a report in one line, for the error of a failed scenario.
func summary(r report.Report) string {
	var parts []string
	if r.Source.Error != "" {
		parts = append(parts, "source: "+r.Source.Error)
	}
	if r.Source.Refused != nil {
		parts = append(parts, "refused: "+r.Source.Refused.Error)
	}
	if !r.Writes.Allowed {
		parts = append(parts, "no writes: "+r.Writes.Message)
	}
	for _, g := range r.Guests {
		for _, c := range g.Conditions {
			parts = append(parts, fmt.Sprintf("%s %s: %s", g.Label(), c.Type, c.Message))
		}
	}
	return strings.Join(parts, "; ")
}

// converged reports whether the agent has brought every guest to a commit.
func (s *environment) converged(commit string) func() bool {
	return func() bool {
		r := s.agent.Report()
		return r.Converged && r.Source.Accepted != nil && r.Source.Accepted.Commit == commit
	}
}

func (s *environment) close() {
	s.cancel()
	s.running.Wait()
	if s.agent != nil {
		_ = s.agent.Close()
	}
	if s.sim != nil {
		s.sim.Close()
	}
	_ = os.RemoveAll(s.dir)
}
