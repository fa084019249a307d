package selection_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"
)

var noon = time.Date(2026, time.March, 22, 12, 0, 0, 0, time.UTC)

func fleet() []report.Guest {
	make := func(kind guest.Kind, name string, vmid int, node string, tags ...string) report.Guest {
		return report.Guest{
			GuestName: report.GuestName{Kind: kind, Name: name, VMID: vmid, Node: node}, Tags: tags, Sync: report.Synced, Health: report.Healthy,
			ObservedAt: noon.Add(-time.Duration(vmid) * time.Second),
		}
	}
	web := make(guest.VirtualMachine, "web-1", 211, "pve1", "prod", "web")
	web.Sync, web.Health, web.DriftSince = report.OutOfSync, report.Progressing, noon.Add(-time.Hour)
	mail := make(guest.Container, "mail-1", 231, "pve2", "prod")
	mail.Sync, mail.Health, mail.DriftSince = report.OutOfSync, report.Degraded, noon.Add(-2*time.Hour)
	mail.Held = []report.HeldStep{{Op: "reboot"}}
	fresh := make(guest.VirtualMachine, "batch-1", 0, "")
	fresh.Sync, fresh.Health, fresh.ObservedAt = report.SyncUnknown, report.Missing, time.Time{}
	warned := make(guest.Container, "dns-2", 202, "PVE2")
	warned.Conditions = []plan.Condition{{Type: plan.Warned}}
	return []report.Guest{make(guest.Container, "dns-1", 201, "pve1", "prod"), warned, web, mail, fresh}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                       "attention: dns-2 web-1 mail-1 batch-1; no-action: dns-1",
		"group=none":             ": dns-1 dns-2 web-1 mail-1 batch-1",
		"group=none&sort=-vmid":  ": batch-1 mail-1 web-1 dns-2 dns-1",
		"group=none&sort=name":   ": batch-1 dns-1 dns-2 mail-1 web-1",
		"group=none&sort=node":   ": dns-2 dns-1 web-1 mail-1 batch-1",
		"group=none&sort=sync":   ": web-1 mail-1 batch-1 dns-1 dns-2",
		"group=none&sort=health": ": mail-1 batch-1 web-1 dns-1 dns-2",
		"group=none&sort=drift":  ": mail-1 web-1 dns-1 dns-2 batch-1",
		"group=none&sort=read":   ": mail-1 web-1 dns-2 dns-1 batch-1",
		"group=node":             "PVE2: dns-2; pve1: dns-1 web-1; pve2: mail-1; : batch-1",
		"group=kind":             "Container: dns-1 dns-2 mail-1; VirtualMachine: web-1 batch-1",
		"group=tag":              "prod: dns-1 web-1 mail-1; : dns-2 batch-1",
		"group=sync":             "OutOfSync: web-1 mail-1; Unknown: batch-1; Synced: dns-1 dns-2",
		"group=health":           "Degraded: mail-1; Missing: batch-1; Progressing: web-1; Healthy: dns-1 dns-2",
		"search=DNS":             "attention: dns-2; no-action: dns-1",
		"search=prod+231":        "attention: mail-1",
		"search=virtual":         "attention: web-1 batch-1",
		"search=prodweb":         "",
		"node=pve2":              "attention: dns-2 mail-1",
		"tag=WEB":                "attention: web-1",
		"sync=synced":            "attention: dns-2; no-action: dns-1",
		"sync=Unknown,outofsync": "attention: web-1 mail-1 batch-1",
		"health=Degraded":        "attention: mail-1",
		"held=yes":               "attention: mail-1",
		"problems=yes":           "attention: dns-2 web-1 mail-1 batch-1",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		s, err := selection.Parse(values.Get)
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
		var groups []string
		for _, g := range s.Apply(fleet()) {
			var names []string
			for _, g := range g.Guests {
				names = append(names, g.Name)
			}
			groups = append(groups, g.Key+": "+strings.Join(names, " "))
		}
		if got := strings.Join(groups, "; "); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
		again, err := selection.Parse(s.Values().Get)
		if err != nil || again.Values().Encode() != s.Values().Encode() || len(s.Values()) != len(values) {
			t.Errorf("%s: got %s when it is written and read again (%v)", query, again.Values().Encode(), err)
		}
		filters := query != "" && !strings.HasPrefix(query, "group=")
		if s.IsFilter() != filters {
			t.Errorf("%s: got filter %v, want %v", query, s.IsFilter(), filters)
		}
	}
}

func TestParseNamesEveryWrongValue(t *testing.T) {
	t.Parallel()
	s, err := selection.Parse(url.Values{"sync": {"Synced,lost"}, "health": {"fine"}, "held": {"no"}, "sort": {"-size"}, "group": {"rack"}, "node": {"pve1"}}.Get)
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{`sync "lost": want Synced, OutOfSync, Unknown`, `health "fine"`, `held "no": want yes`, `sort "-size"`, `group "rack"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to contain %s", err, want)
		}
	}
	if s.Node != "pve1" || !slices.Equal(s.Sync, []report.Sync{report.Synced}) {
		t.Errorf("got %+v, want the values that are right", s)
	}
}

func TestApplyLeavesTheReportAlone(t *testing.T) {
	t.Parallel()
	guests := fleet()
	selection.Selection{Order: selection.ByName}.Apply(guests)
	for i, g := range fleet() {
		if guests[i].Name != g.Name {
			t.Errorf("got %s at %d, want %s", guests[i].Name, i, g.Name)
		}
	}
}
