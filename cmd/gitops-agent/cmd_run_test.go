package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestFirstWriteWaits: the program that users get waits three seconds after its claim before it writes, unlike that of the other tests.
func TestFirstWriteWaits(t *testing.T) {
	t.Parallel()
	s := newDocHost(t)
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", strings.Replace(acceptedSetup[:strings.Index(acceptedSetup, "systemctl")], "gitops-agent run", "gitops-agent-unchanged --config "+s.path("config.yaml")+" run", 1))
	cmd.Dir, cmd.Env = s.path("repo"), s.env
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil || s.sim.Value(201, "memory") != "2048" {
		t.Fatalf("got %v and memory %q, want the guest\n%s", err, s.sim.Value(201, "memory"), out)
	}
	if took := time.Since(began); took < 3*time.Second {
		t.Errorf("got the guest after %s, want three seconds between the claim and the first write", took)
	}
}

// A failure takes precedence over a refusal, and a refusal over pending changes.
func TestOnceOutcome(t *testing.T) {
	t.Parallel()
	failed := report.Guest{GuestName: report.GuestName{Kind: "VirtualMachine", Name: "web-1"}, Conditions: []plan.Condition{{Type: plan.Failed, Message: "no space"}}}
	held := report.Guest{Sync: report.OutOfSync, Held: []report.HeldStep{{}}}
	waits := report.Guest{
		GuestName: failed.GuestName, Sync: report.OutOfSync, Operation: report.Idle, Conditions: []plan.Condition{{Type: plan.PendingRestart, Reason: reason.PendingRestart}},
	}
	restart := report.Report{Writes: report.Writes{Allowed: true}, Source: report.Source{Head: "aaa", Accepted: &report.Revision{Commit: "aaa"}}, Guests: []report.Guest{waits}}
	refused := report.Source{Refused: &report.Refused{Error: "reject x", Hint: "sign it"}}
	unverified := report.Writes{Reason: reason.StopUnverified, Message: "reject y"}
	tests := map[string]struct {
		report report.Report
		status int
		want   string
	}{
		"converged":  {report.Report{Converged: true}, term.ExitDone, ""},
		"except":     {report.Report{Converged: true, Except: &report.Except{Guests: []string{"Container/dns-1"}, Root: 1}}, term.ExitChanges, ""},
		"restart":    {restart, term.ExitChanges, "1 guest waits for a restart: VirtualMachine/web-1"},
		"held":       {report.Report{Guests: []report.Guest{held}}, term.ExitChanges, ""},
		"refused":    {report.Report{Source: refused, Guests: []report.Guest{held}}, term.ExitRefused, "reject x"},
		"unverified": {report.Report{Writes: unverified, Source: refused}, term.ExitRefused, "reject y"},
		"failed":     {report.Report{Source: refused, Guests: []report.Guest{held, failed}}, term.ExitError, "VirtualMachine/web-1: no space"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := onceOutcome(test.report)
			if got := term.ExitStatus(err); got != test.status {
				t.Errorf("got exit status %d, want %d", got, test.status)
			}
			if test.want != "" && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want %q in it", err, test.want)
			}
		})
	}
}
