package main

import (
	"errors"
	"fmt"
	"strings"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// scenario is one part of the demonstration. run returns an error if the simulated cluster is not in the expected state.
type scenario struct {
	title string
	run   func(s *environment, n printer) error
}

func scenarios() []scenario {
	return []scenario{
		{"A signed commit converges", signedCommit},
		{"A guest is changed by hand", driftRepaired},
		{"A commit is not signed", unsignedCommit},
		{"A guest is destroyed after an approval", destroyApproved},
		{"A guest is restarted once", restartOrdered},
	}
}

// Vmids of the example manifests.
const (
	web1 = 201
	db1  = 202
	dns1 = 210
	erp  = 105
)

func signedCommit(s *environment, n printer) error {
	n.action("alice commits the example manifests, signs and pushes")
	commit, err := s.Repository.Commit(s.ctx, nil, "add the homelab")
	if err != nil {
		return err
	}
	if err := s.waitFor("convergence", s.converged(commit)); err != nil {
		return err
	}
	n.confirmed("the agent accepted %.7s, signed by %s", commit, s.Agent.Report().Source.Accepted.Subject)
	for _, g := range s.Sim.Guests() {
		if g.VMID >= web1 && g.VMID < 300 {
			n.confirmed("%s %d exists on %s, running: %t", g.Name, g.VMID, g.Node, g.Running)
		}
	}
	switch {
	case s.Sim.Effects(web1, pvesim.Cloned) != 1 || s.Sim.Effects(db1, pvesim.Cloned) != 1:
		return errors.New("web-1 and db-1 were not cloned once each")
	case s.Sim.Effects(dns1, pvesim.Created) != 1:
		return errors.New("dns-1 was not created once")
	case !s.Sim.Running(web1) || !s.Sim.Running(db1) || !s.Sim.Running(dns1):
		return errors.New("not every guest that should run is running")
	case s.Sim.Value(web1, "memory") != "2048":
		return fmt.Errorf("web-1 has %s MiB, want 2048 from its class", s.Sim.Value(web1, "memory"))
	case s.Sim.Value(erp, "onboot") != "1" || s.Sim.Value(erp, "name") != "erp":
		return errors.New("the adopted machine differs from its manifest")
	}
	n.confirmed("erp 105, which was created by hand, was adopted: onboot is set, and its name and disks are unchanged")
	return nil
}

func driftRepaired(s *environment, n printer) error {
	before := s.Sim.Value(web1, "tags")
	n.action("an administrator edits web-1 on the cluster: tags and start at boot")
	if err := errors.Join(s.Sim.Edit(web1, "tags", "experiment"), s.Sim.Edit(web1, "onboot", "0")); err != nil {
		return err
	}
	repaired := func() bool { return s.Sim.Value(web1, "tags") == before && s.Sim.Value(web1, "onboot") == "1" }
	if err := s.waitFor("the repair", repaired); err != nil {
		return err
	}
	n.confirmed("drift was found and repaired: tags are %s again, onboot is 1", before)
	writes := s.Sim.Counters().Writes
	cycle := s.Agent.Report().Cycle
	if err := s.waitFor("five more cycles", func() bool { return s.Agent.Report().Cycle >= cycle+5 }); err != nil {
		return err
	}
	if now := s.Sim.Counters().Writes; now != writes {
		return fmt.Errorf("%d writes to a converged cluster", now-writes)
	}
	n.confirmed("in five more cycles the agent wrote nothing to the converged cluster")
	return nil
}

func unsignedCommit(s *environment, n printer) error {
	good := s.Agent.Report().Source.Accepted.Commit
	n.action("a user with push rights gives web-1 another bridge, in a commit without a signature")
	if err := s.Repository.Replace("classes.yaml", "net0: {bridge: vmbr0", "net0: {bridge: vmbr1"); err != nil {
		return err
	}
	bad, err := s.Repository.Commit(s.ctx, []string{"commit.gpgsign=false"}, "another network")
	if err != nil {
		return err
	}
	refused := func() bool { r := s.Agent.Report().Source.Refused; return r != nil && r.Commit == bad }
	if err := s.waitFor("the refusal", refused); err != nil {
		return err
	}
	n.confirmed("%.7s was refused: %s", bad, s.Agent.Report().Source.Refused.Reason)
	if err := s.Sim.Edit(web1, "onboot", "0"); err != nil {
		return err
	}
	if err := s.waitFor("the repair by the last accepted revision", func() bool { return s.Sim.Value(web1, "onboot") == "1" }); err != nil {
		return err
	}
	switch {
	case strings.Contains(s.Sim.Value(web1, "net0"), "vmbr1"):
		return errors.New("the unsigned change reached the cluster")
	case s.Agent.Report().Source.Accepted.Commit != good:
		return errors.New("the last accepted revision is no longer in force")
	}
	n.confirmed("the commit did not reach the cluster, and %.7s stays in force", good)
	n.action("the push is reverted")
	if err := s.Repository.RevertPush(s.ctx); err != nil {
		return err
	}
	return s.waitFor("the signed branch head", func() bool { return s.Agent.Report().Source.Refused == nil })
}

func destroyApproved(s *environment, n printer) error {
	n.action("alice removes dns-1 from the repository, signs and pushes")
	if err := s.Repository.Remove("dns.yaml"); err != nil {
		return err
	}
	if _, err := s.Repository.Commit(s.ctx, nil, "remove dns-1"); err != nil {
		return err
	}
	var held report.HeldStep
	if err := s.waitFor("the held destroy", func() bool {
		for _, g := range s.Agent.Report().Guests {
			if g.VMID == dns1 && len(g.Held) == 1 && g.Held[0].Op == cluster.OpDestroy && g.Held[0].Digest != "" {
				held = g.Held[0]
			}
		}
		return held.Digest != ""
	}); err != nil {
		return err
	}
	if s.Sim.Config(dns1) == "" || !s.Sim.Running(dns1) {
		return errors.New("dns-1 was changed before the approval")
	}
	n.confirmed("the destroy is held (%s), and dns-1 still runs", held.Message)
	n.action("olga, who may approve, signs an empty commit: Gitops-Approve: %s", held.Digest)
	commit, err := s.Repository.Commit(s.ctx, []string{"gpg.x509.program=" + s.Repository.Program("olga"), "user.name=olga"}, "Approve the destroy of dns-1", "Gitops-Approve: "+held.Digest)
	if err != nil {
		return err
	}
	if err := s.waitFor("convergence", s.converged(commit)); err != nil {
		return err
	}
	if got := s.Sim.Effects(dns1, pvesim.Destroyed); got != 1 || s.Sim.Config(dns1) != "" {
		return fmt.Errorf("dns-1 was destroyed %d times", got)
	}
	n.confirmed("dns-1 was destroyed once")
	return nil
}

func restartOrdered(s *environment, n printer) error {
	order := "Gitops-Run: reboot VirtualMachine/db-1"
	n.action("alice, who may operate, signs an empty commit: %s", order)
	commit, err := s.Repository.Commit(s.ctx, nil, "Restart db-1", order+"\nGitops-Target: home/main")
	if err != nil {
		return err
	}
	executed := func() bool {
		orders := s.Agent.Report().Orders
		return len(orders) == 1 && orders[0].Commit == commit && orders[0].State == journal.OrderRun
	}
	if err := s.waitFor("the restart", executed); err != nil {
		return err
	}
	if err := s.waitFor("convergence", s.converged(commit)); err != nil {
		return err
	}
	if got := s.Sim.Effects(db1, pvesim.Stopped); got != 1 || !s.Sim.Running(db1) {
		return fmt.Errorf("db-1 was stopped %d times, and runs: %t", got, s.Sim.Running(db1))
	}
	n.confirmed("db-1 was restarted once; status and the page show the order, its commit and its task")
	if v := s.Sim.Violations(); len(v) != 0 {
		return fmt.Errorf("the simulator reports violations: %s", strings.Join(v, "; "))
	}
	n.confirmed("the simulator reports no two writers on a guest and no volume freed without a reason")
	return nil
}
