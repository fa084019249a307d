package main

import (
	"errors"
	"fmt"
	"strings"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/report"
)

// chapter is one part of the story. It fails when the simulated cluster is not as the story says.
type chapter struct {
	title string
	play  func(s *stage, n narrator) error
}

func chapters() []chapter {
	return []chapter{
		{"A signed commit converges", signedCommit},
		{"Somebody changes a guest by hand", driftRepaired},
		{"A commit that nobody signed", unsignedCommit},
		{"A guest is removed, with two signatures", destroyApproved},
	}
}

// Vmids of the example manifests.
const (
	web1 = 201
	db1  = 202
	dns1 = 210
	erp  = 105
)

func signedCommit(s *stage, n narrator) error {
	n.says("alice commits the example manifests, signs and pushes")
	commit, err := s.repo.commit(s.ctx, "the homelab as code")
	if err != nil {
		return err
	}
	if err := s.until("convergence", s.converged(commit)); err != nil {
		return err
	}
	n.checked("the agent accepted %.7s, signed by %s", commit, s.agent.Report().Source.Accepted.Subject)
	for _, g := range s.sim.Guests() {
		if g.VMID >= web1 && g.VMID < 300 {
			n.checked("%s %d exists on %s, running: %t", g.Name, g.VMID, g.Node, g.Running)
		}
	}
	switch {
	case s.sim.Effects(web1, pvesim.Cloned) != 1 || s.sim.Effects(db1, pvesim.Cloned) != 1:
		return errors.New("web-1 and db-1 were not cloned once each")
	case s.sim.Effects(dns1, pvesim.Created) != 1:
		return errors.New("dns-1 was not created once")
	case !s.sim.Running(web1) || !s.sim.Running(db1) || !s.sim.Running(dns1):
		return errors.New("not every guest that should run is running")
	case s.sim.Value(web1, "memory") != "2048":
		return fmt.Errorf("web-1 has %s MiB, its class says 2048", s.sim.Value(web1, "memory"))
	case s.sim.Value(erp, "onboot") != "1" || s.sim.Value(erp, "name") != "erp":
		return errors.New("the adopted machine is not as its manifest says")
	}
	n.checked("erp 105, made by hand years ago, was adopted: onboot is set, its name and disks are its own")
	return nil
}

func driftRepaired(s *stage, n narrator) error {
	before := s.sim.Value(web1, "tags")
	n.says("somebody edits web-1 on the cluster: tags and start at boot")
	if err := errors.Join(s.sim.Edit(web1, "tags", "experiment"), s.sim.Edit(web1, "onboot", "0")); err != nil {
		return err
	}
	repaired := func() bool { return s.sim.Value(web1, "tags") == before && s.sim.Value(web1, "onboot") == "1" }
	if err := s.until("the repair", repaired); err != nil {
		return err
	}
	n.checked("drift was found and repaired: tags are %s again, onboot is 1", before)
	writes := s.sim.Counters().Writes
	cycle := s.agent.Report().Cycle
	if err := s.until("five more cycles", func() bool { return s.agent.Report().Cycle >= cycle+5 }); err != nil {
		return err
	}
	if now := s.sim.Counters().Writes; now != writes {
		return fmt.Errorf("%d writes to a converged cluster", now-writes)
	}
	n.checked("five cycles later the converged cluster got no write")
	return nil
}

func unsignedCommit(s *stage, n narrator) error {
	good := s.agent.Report().Source.Accepted.Commit
	n.says("somebody with push rights, and without a signature, gives web-1 another bridge")
	if err := s.repo.replace("classes.yaml", "net0: {bridge: vmbr0", "net0: {bridge: vmbr1"); err != nil {
		return err
	}
	bad, err := s.repo.commitUnsigned(s.ctx, "another network")
	if err != nil {
		return err
	}
	refused := func() bool { r := s.agent.Report().Source.Refused; return r != nil && r.Commit == bad }
	if err := s.until("the refusal", refused); err != nil {
		return err
	}
	n.checked("%.7s was refused: %s", bad, s.agent.Report().Source.Refused.Reason)
	if err := s.sim.Edit(web1, "onboot", "0"); err != nil {
		return err
	}
	if err := s.until("the repair by the last good state", func() bool { return s.sim.Value(web1, "onboot") == "1" }); err != nil {
		return err
	}
	switch {
	case strings.Contains(s.sim.Value(web1, "net0"), "vmbr1"):
		return errors.New("the unsigned change reached the cluster")
	case s.agent.Report().Source.Accepted.Commit != good:
		return errors.New("the last good revision is no longer in force")
	}
	n.checked("nothing of it reached the cluster, and %.7s keeps being enforced", good)
	n.says("the push is taken back")
	if err := s.repo.takeBack(s.ctx); err != nil {
		return err
	}
	return s.until("the good head", func() bool { return s.agent.Report().Source.Refused == nil })
}

func destroyApproved(s *stage, n narrator) error {
	n.says("alice removes dns-1 from the repository, signs and pushes")
	if err := s.repo.remove("dns.yaml"); err != nil {
		return err
	}
	if _, err := s.repo.commit(s.ctx, "no more dns-1"); err != nil {
		return err
	}
	var held report.HeldStep
	if err := s.until("the held destroy", func() bool {
		for _, g := range s.agent.Report().Guests {
			if g.VMID == dns1 && len(g.Held) == 1 && g.Held[0].Op == cluster.OpDestroy && g.Held[0].Digest != "" {
				held = g.Held[0]
			}
		}
		return held.Digest != ""
	}); err != nil {
		return err
	}
	if s.sim.Config(dns1) == "" || !s.sim.Running(dns1) {
		return errors.New("dns-1 was touched before anybody approved")
	}
	n.checked("destroying it is held (%s), and dns-1 still runs", held.Message)
	n.says("olga, who may approve, signs an empty commit: Gitops-Approve: %s", held.Digest)
	commit, err := s.repo.commitAs(s.ctx, "olga", "Approve the end of dns-1", "Gitops-Approve: "+held.Digest)
	if err != nil {
		return err
	}
	if err := s.until("convergence", s.converged(commit)); err != nil {
		return err
	}
	if got := s.sim.Effects(dns1, pvesim.Destroyed); got != 1 || s.sim.Config(dns1) != "" {
		return fmt.Errorf("dns-1 was destroyed %d times", got)
	}
	n.checked("dns-1 was destroyed, once")
	if v := s.sim.Violations(); len(v) != 0 {
		return fmt.Errorf("the simulator saw what must never happen: %s", strings.Join(v, "; "))
	}
	n.checked("the simulator saw no two writers on a guest and no volume freed without a reason")
	return nil
}
