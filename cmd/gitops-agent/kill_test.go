//go:build integration

package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func blankVM(name string, vmid int, lines string) string {
	return fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: %s}\nspec:\n  vmid: %d\n  node: pve1\n"+
		"  source: {blank: {}}\n  disks: {scsi0: {storage: local, size: 1Gi}}\n  lifecycle: {destroy: allow}\n%s", name, vmid, lines)
}

// killMoment is when the agent is killed around a call that the simulator holds.
type killMoment struct {
	hold string
	kill func(s *site) // and start it again
}

func killMoments() map[string]killMoment {
	return map[string]killMoment{
		"before_it_acted": {"hold-before", func(s *site) {
			s.signal(syscall.SIGKILL)
			s.post("/release", nil)
			s.run()
		}},
		"before_it_acted_and_late": {"hold-before", func(s *site) {
			s.signal(syscall.SIGKILL)
			s.run() // the new process reads while the call of the old one has not acted yet
			s.until("the first cycle of the new life", func() bool {
				resp, err := http.Get("http://" + s.address + "/readyz")
				if err != nil {
					return false
				}
				_ = resp.Body.Close()
				return resp.StatusCode == http.StatusOK
			})
			s.post("/release", nil)
		}},
		"before_the_reply": {"hold-after", func(s *site) {
			s.signal(syscall.SIGKILL)
			s.post("/release", nil)
			s.run()
		}},
		"before_the_next_record": {"hold-after", func(s *site) {
			s.signal(syscall.SIGSTOP) // the reply reaches the process, but the process cannot read it
			s.post("/release", nil)
			s.until("the reply", func() bool { return s.held() == 0 })
			s.signal(syscall.SIGKILL)
			s.run()
		}},
	}
}

// TestKillAtEveryWritePoint kills the real binary while the simulator, in another process, holds its call. By the simulator's own
// count each effect must have happened once.
func TestKillAtEveryWritePoint(t *testing.T) {
	bin := buildBinaries(t)
	ops := map[string]struct {
		method, path string
		vmid         int
		effect       string
		order        func(s *site) // pushes the commit that needs the call
	}{
		"create":  {"POST", "/nodes/pve1/qemu$", 202, "created", func(s *site) { s.repo.Files["db.yaml"] = blankVM("db-1", 202, "") }},
		"config":  {"POST", "/qemu/201/config$", 201, "config-written", func(s *site) { s.repo.Files["web.yaml"] = blankVM("web-1", 201, "  memory: {size: 1Gi}\n") }},
		"start":   {"POST", "/qemu/201/status/start$", 201, "started", func(s *site) { s.repo.Files["web.yaml"] = blankVM("web-1", 201, "  state: running\n") }},
		"destroy": {"DELETE", "/qemu/201$", 201, "destroyed", func(s *site) { delete(s.repo.Files, "web.yaml") }},
	}
	for op, call := range ops {
		for moment, m := range killMoments() {
			t.Run(op+"/"+moment, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, bin)
				s.repo.Files["cluster.yaml"] = clusterManifest
				s.repo.Files["web.yaml"] = blankVM("web-1", 201, "")
				s.repo.Files["keep.yaml"] = blankVM("keep-1", 209, "")
				s.repo.Push(s.sig, killer, "first")
				s.run()
				s.converged()
				s.post("/reset", nil)
				s.post("/faults", map[string]any{"kind": m.hold, "method": call.method, "path": call.path})
				call.order(s)
				s.repo.Push(s.sig, killer, op)
				s.get("/held?n=1&timeout=60s", nil)
				m.kill(s)
				s.converged()
				s.until("the old call to be over", func() bool { return s.held() == 0 })
				if got := s.effects(call.vmid, call.effect); got != 1 {
					log, _ := os.ReadFile(s.path("log"))
					t.Errorf("got %s %d times, want once; the agent's log:\n%s", call.effect, got, log)
				}
				s.signal(syscall.SIGTERM)
				var exit *exec.ExitError
				if err := s.agent.Wait(); errors.As(err, &exit) {
					t.Errorf("got exit status %d after SIGTERM, want 0", exit.ExitCode())
				}
			})
		}
	}
}

// TestKillWhileClaiming kills the real binary again and again, also in the middle of its claim of the cluster. The next process needs no flag: it
// recognises the mark of each earlier one, also if Proxmox writes the mark late.
func TestKillWhileClaiming(t *testing.T) {
	bin := buildBinaries(t)
	for moment, m := range killMoments() {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, bin)
			s.repo.Files["cluster.yaml"] = clusterManifest
			s.repo.Files["web.yaml"] = blankVM("web-1", 201, "")
			s.repo.Push(s.sig, killer, "first")
			s.run()
			s.converged()
			for kills := range 3 {
				s.signal(syscall.SIGKILL)
				s.post("/faults", map[string]any{"kind": m.hold, "method": "PUT", "path": "^/pools"})
				s.repo.Files["web.yaml"] = blankVM("web-1", 201, fmt.Sprintf("  memory: {size: %dGi}\n", 1+kills))
				s.repo.Push(s.sig, killer, fmt.Sprintf("memory %d", kills))
				s.run()
				s.get("/held?n=1&timeout=60s", nil)
				m.kill(s)
				s.converged()
				s.until("the old claim to be over", func() bool { return s.held() == 0 })
			}
			if log := s.read("log"); strings.Contains(log, "superseded") || strings.Count(log, "cluster claimed") < 4 {
				t.Errorf("got a superseded agent, or fewer than 4 claims; its log:\n%s", log)
			}
		})
	}
}
