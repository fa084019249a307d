package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// hideTasks takes Sys.Audit on the nodes from the token: lists of tasks have its own ones alone then, without an error.
func (l *lab) hideTasks() {
	l.Helper()
	all := append(slices.Clone(pvesim.DefaultTokens()[1].ACL[0].Privileges), "Sys.Console")
	onNode := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return p == "Sys.Audit" })
	acl := []pvesim.ACL{{Path: "/", Privileges: all}}
	for _, node := range []string{"pve1", "pve2", "pve3"} {
		acl = append(acl, pvesim.ACL{Path: "/nodes/" + node, Privileges: onNode})
	}
	l.sim.SetPrivileges("gitops@pve!agent", acl)
}

// TestHiddenTaskIsNoAbsentOne lets a person migrate a guest while the token sees no task of others: nothing says that no task holds the lock, and no hint says to unlock the guest.
func TestHiddenTaskIsNoAbsentOne(t *testing.T) {
	options := pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}, TaskTimes: map[string]time.Duration{"qmigrate": 15 * time.Minute}}
	runLabOn(t, options, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "state: running"), "pve1")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.hideTasks()
		time.Sleep(time.Minute)
		l.callAs("root@pam!full", "POST", "/nodes/pve1/qemu/201/migrate", "target=pve2&online=1&with-local-disks=1")
		eventually(t, "what is not known", func() bool { return l.says(reason.Locked, "it is unknown whether a task holds it") })
		for range 36 {
			time.Sleep(15 * time.Second)
			for _, c := range l.guest(l.engine.Report(), 201).Conditions {
				if c.Reason == reason.Locked && (strings.Contains(c.Hint, "unlock") || strings.Contains(c.Message, "no task on any node")) {
					t.Fatalf("got %q with the hint %q while a task moves the guest", c.Message, c.Hint)
				}
			}
		}
	})
}

// TestHiddenMoveIsUnknown lets a move of the HA manager begin whose task the token does not see, and a person abort it: its outcome is unknown, and not a request that was dropped.
func TestHiddenMoveIsUnknown(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{TaskTimes: map[string]time.Duration{"qmigrate": 2 * time.Minute}}, func(t *testing.T, l *lab) {
		l.hideTasks()
		l.order(moveWeb1)
		l.abortMove()
		eventually(t, "the end of the order", func() bool { return l.orderOf(moveWeb1).State != journal.OrderReleased })
		if o := l.orderOf(moveWeb1); o.State != journal.OrderUnknown || strings.Contains(o.Why, "dropped") {
			t.Errorf("got %s %q, want unknown", o.State, o.Why)
		}
	})
}
