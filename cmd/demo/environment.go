package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"gitops-agent/examples/manifests"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sandbox"
	"gitops-agent/reconcile/report"
)

// The people who commit in the demonstration. Their issuer does not exist; the agent's config defines what each of them may do.
const (
	issuer = "https://accounts.demo.test"
	alice  = "alice@demo.test" // may change guests and order one-shot operations
	olga   = "olga@demo.test"  // may approve
)

// waitLimit is how long a scenario waits for an expected state.
const waitLimit = 60 * time.Second

// environmentOptions are the flags of the command that concern the environment.
type environmentOptions struct {
	listen string
	log    io.Writer
}

// environment holds all parts of the demonstration: cluster, Sigstore, repository and agent. With several agents, Agent is nil.
type environment struct {
	*sandbox.Environment
	ctx context.Context //nolint:containedctx // the environment ends with it
}

// newEnvironment starts everything. The manifests are not yet committed.
func newEnvironment(ctx context.Context, opts environmentOptions) (*environment, error) {
	s, err := newCluster(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.StartAgent(sandbox.AgentOptions{
		Cluster: "home", Listen: opts.listen, Log: opts.log,
		Signers: []agent.SignerConfig{
			{Name: "alice", Issuer: issuer, Subject: alice, May: []string{"change", "operate"}},
			{Name: "olga", Issuer: issuer, Subject: olga, May: []string{"approve"}},
		},
	}); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// newCluster starts everything but agents.
func newCluster(ctx context.Context) (*environment, error) {
	box, err := sandbox.New(ctx, "", "demo", []sandbox.Person{{Name: "alice", Subject: alice, Issuer: issuer}, {Name: "olga", Subject: olga, Issuer: issuer}})
	if err != nil {
		return nil, err
	}
	s := &environment{box, ctx}
	if err := s.open(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// open starts the simulator with the objects that the example manifests name, which are copied into the repository.
func (s *environment) open() error {
	files, err := fs.Sub(manifests.Files, "demo")
	if err != nil {
		return err
	}
	if err := os.CopyFS(s.Repository.Work, files); err != nil {
		return fmt.Errorf("copy the manifests: %w", err)
	}
	sim := pvesim.New(pvesim.Options{TaskTime: 300 * time.Millisecond})
	if err := addGuests(sim); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return s.StartCluster(sim)
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

// waitFor waits for a condition, up to waitLimit. It returns an error if the agent or the cluster has failed.
func (s *environment) waitFor(what string, condition func() bool) error {
	deadline := time.Now().Add(waitLimit)
	for !condition() {
		if err := s.Err(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s without result; the agent reports: %s", waitLimit, what, summary(s.Agent.Report()))
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
		r := s.Agent.Report()
		return r.Converged && r.Source.Accepted != nil && r.Source.Accepted.Commit == commit
	}
}
