package gate

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

const wandasEntry = "0123456789abcdef"

// scopeOf returns the scope of wanda, who may change web servers and wrote all fields of VirtualMachine/web-9 and Container/web-9.
func scopeOf(limits ...Limit) Scope {
	by := []journal.Introduction{{Signer: "wanda", Entry: wandasEntry, Limited: true, Commit: "c0ffee0123", Fields: []string{journal.AllFields}}}
	vm, ct := journal.Label{Kind: "VirtualMachine", Name: "web-9"}, journal.Label{Kind: "Container", Name: "web-9"}
	return Scope{
		Limits:     Limits{wandasEntry: limits},
		Introduced: map[journal.Label]journal.Introduced{vm: {By: by}, ct: {By: by}},
		Owned:      map[int]journal.Owned{205: {Kind: "VirtualMachine", Name: "web-9", Identity: "i"}, 206: {Kind: "VirtualMachine", Name: "web-6"}, 220: {Kind: "VirtualMachine", Name: "mail-1"}},
		Assigned:   map[journal.Label]int{vm: 207},
		Attached:   map[int]journal.Attached{205: {VMID: 205, Identity: "i", Volumes: map[string]string{"scsi1": "local-lvm:vm-205-disk-3"}}},
		Inventory: cluster.Inventory{Rows: []cluster.Row{
			{Kind: guest.VirtualMachine, VMID: 1000, Name: "mail-0"}, {Kind: guest.VirtualMachine, VMID: 9000, Name: "tmpl-debian-12", Template: true},
		}},
	}
}

// TestScopeJudge judges steps that follow from fields of wanda.
func TestScopeJudge(t *testing.T) {
	t.Parallel()
	web := Limit{Guests: []string{"VirtualMachine/web-*", "Container/web-*"}}
	with := func(change func(*Limit)) []Limit { l := web; change(&l); return []Limit{l} }
	config := func(key, value string) plan.Step {
		return plan.Step{
			Guest: guest.Ref{Kind: guest.VirtualMachine, Name: "web-9", VMID: 205}, Op: cluster.OpConfig,
			Calls: []cluster.Call{{Op: cluster.OpConfig, Kind: guest.VirtualMachine, VMID: 205, Params: map[string]string{key: value}}},
		}
	}
	onContainer := func(s plan.Step) plan.Step {
		s.Guest = guest.Ref{Kind: guest.Container, Name: "web-9"}
		s.Calls[0].Kind = guest.Container
		return s
	}
	clone := func(of int) plan.Step {
		s := config("full", "1")
		s.Op, s.Calls[0].Op, s.Calls[0].CloneOf = cluster.OpCreate, cluster.OpCreate, of
		return s
	}
	create := func(key, value string) plan.Step {
		s := config(key, value)
		s.Op, s.Calls[0].Op = cluster.OpCreate, cluster.OpCreate
		return s
	}
	at := func(vmid int, s plan.Step) plan.Step { s.Guest.VMID = vmid; return s }
	onAssigned := func(s plan.Step) plan.Step { s.Guest.VMID, s.Calls[0].VMID = 207, 207; return s }
	adopt := func(vmid int) plan.Step {
		return plan.Step{Guest: guest.Ref{Kind: guest.VirtualMachine, Name: "web-9", VMID: vmid}, Op: cluster.OpConfig, TakesOwnership: true}
	}
	present := config("scsi1", "local-lvm:vm-1000-disk-0,cache=none")
	present.Changes = []guest.Change{{Key: "scsi1", From: "local-lvm:vm-1000-disk-0,size=4G"}}
	tests := map[string]struct {
		limits []Limit
		step   plan.Step
		holds  string // part of the message
	}{
		"own_guest":            {step: config("memory", "2048")},
		"other_own_label":      {step: at(206, config("memory", "2048"))},
		"guest_of_others":      {step: at(220, config("memory", "2048")), holds: "spec.vmid in commit c0ffee0 and may not touch vmid 220, which belongs to VirtualMachine/mail-1"},
		"foreign_guest":        {step: at(1000, config("memory", "2048")), holds: "vmid 1000, which the source did not create"},
		"listed_guest":         {with(func(l *Limit) { l.VMIDs = []VMIDs{{100, 199}, {990, 1000}} }), at(1000, config("memory", "2048")), ""},
		"beside_the_range":     {with(func(l *Limit) { l.VMIDs = []VMIDs{{100, 999}} }), at(1000, config("memory", "2048")), "vmid 1000"},
		"adopt":                {step: adopt(1000), holds: "vmid 1000"},
		"adopt_listed":         {with(func(l *Limit) { l.VMIDs = []VMIDs{{1000, 1000}} }), adopt(1000), ""},
		"adopt_after_a_race":   {step: adopt(205), holds: "vmid 205, which the source did not create"},
		"own_volume":           {step: config("scsi1", "local-lvm:vm-205-disk-3")},
		"earlier_volume":       {step: config("scsi1", "local-lvm:vm-205-disk-9"), holds: "local-lvm:vm-205-disk-9"},
		"own_volume_listed":    {with(func(l *Limit) { l.VMIDs = []VMIDs{{205, 205}} }), config("scsi1", "local-lvm:vm-205-disk-9"), ""},
		"own_volume_assigned":  {step: onAssigned(config("scsi1", "local-lvm:vm-207-disk-9"))},
		"free_vmid":            {step: at(250, create("name", "web-9"))},
		"vmid_of_others":       {step: at(220, create("name", "web-9")), holds: "vmid 220"},
		"volume_of_own":        {step: config("scsi1", "local-lvm:vm-206-disk-3")},
		"volume_of_others":     {step: config("scsi1", "local-lvm:vm-220-disk-3"), holds: "local-lvm:vm-220-disk-3, which belongs to vmid 220"},
		"volume_in_slot":       {step: present},
		"volume_in_folder":     {step: config("scsi1", "local:1000/vm-205-disk-3.qcow2"), holds: "which belongs to vmid 205 and 1000"},
		"volume_listed":        {with(func(l *Limit) { l.VMIDs = []VMIDs{{1000, 1000}} }), config("scsi1", "local-lvm:vm-1000-disk-0"), ""},
		"volume_as_source":     {with(func(l *Limit) { l.Sources = []string{"1000"} }), config("scsi1", "local-lvm:vm-1000-disk-0"), "local-lvm:vm-1000-disk-0"},
		"volume_without_owner": {step: config("scsi1", "local-lvm:data"), holds: "local-lvm:data"},
		"allocation":           {step: config("scsi1", "local-lvm:32")},
		"image":                {step: create("scsi0", "local-lvm:0,import-from=local:import/debian.qcow2")},
		"image_of_others":      {step: create("scsi0", "local-lvm:0,import-from=local-lvm:vm-1000-disk-0"), holds: "spec.source"},
		"image_not_listed":     {with(func(l *Limit) { l.Sources = []string{"9000"} }), create("scsi0", "local-lvm:0,import-from=local:import/debian.qcow2"), "local:import/debian.qcow2"},
		"image_listed":         {with(func(l *Limit) { l.Sources = []string{"local:import/*"} }), create("scsi0", "local-lvm:0,import-from=local:import/debian.qcow2"), ""},
		"iso":                  {step: config("ide2", "local:iso/debian.iso,media=cdrom")},
		"iso_not_listed":       {with(func(l *Limit) { l.Sources = []string{"9000"} }), config("ide2", "local:iso/debian.iso,media=cdrom"), "ide2"},
		"disk_of_node":         {step: config("scsi1", "/dev/disk/by-id/x"), holds: "/dev/disk/by-id/x"},
		"bind_mount":           {step: onContainer(config("mp0", "/srv/mail,mp=/data")), holds: "/srv/mail"},
		"bind_mount_listed":    {with(func(l *Limit) { l.Sources = []string{"/srv/*"} }), onContainer(config("mp0", "/srv/web,mp=/data")), ""},
		"bind_mount_climbs":    {with(func(l *Limit) { l.Sources = []string{"/srv/*"} }), onContainer(config("mp0", "/srv/../etc,mp=/data")), "/srv/../etc"},
		"hookscript":           {step: config("hookscript", "local:snippets/hook.pl"), holds: "hookscript"},
		"hookscript_listed":    {with(func(l *Limit) { l.Sources = []string{"local:snippets/hook.pl"} }), config("hookscript", "local:snippets/hook.pl"), ""},
		"arguments":            {step: config("args", "-drive file=/dev/sdb"), holds: "args"},
		"snippet":              {step: config("cicustom", "user=local:snippets/web.yaml"), holds: "local:snippets/web.yaml"},
		"snippet_listed":       {with(func(l *Limit) { l.Sources = []string{"local:snippets/web*"} }), config("cicustom", "user=local:snippets/web.yaml"), ""},
		"restore":              {step: create("archive", "pbs:backup/vm/1000/2026-01-01T00:00:00Z"), holds: "pbs:backup/vm/1000"},
		"restore_own":          {step: onAssigned(create("archive", "pbs:backup/vm/207/2026-01-01T00:00:00Z"))},
		"restore_earlier":      {step: create("archive", "pbs:backup/vm/205/2026-01-01T00:00:00Z"), holds: "pbs:backup/vm/205"},
		"restore_listed":       {with(func(l *Limit) { l.Sources = []string{"pbs:backup/vm/1000/*"} }), create("archive", "pbs:backup/vm/1000/2026-01-01T00:00:00Z"), ""},
		"restore_by_vmid":      {with(func(l *Limit) { l.Sources = []string{"1000-1001"} }), create("archive", "pbs:backup/vm/1000/2026-01-01T00:00:00Z"), ""},
		"restore_unknown":      {step: create("archive", "local:backup/mine.vma"), holds: "local:backup/mine.vma"},
		"container_template":   {step: onContainer(create("ostemplate", "local:vztmpl/debian.tar.zst"))},
		"clone":                {step: clone(1000), holds: "vmid 1000, which the source did not create and is not a template"},
		"clone_own":            {step: clone(206)},
		"clone_listed":         {with(func(l *Limit) { l.VMIDs = []VMIDs{{1000, 1000}} }), clone(1000), ""},
		"clone_template":       {step: clone(9000)},
		"template_not_listed":  {with(func(l *Limit) { l.Sources = []string{"9001"} }), clone(9000), "guest 9000, which the signer's sources do not list"},
		"template_by_name":     {with(func(l *Limit) { l.Sources = []string{"VirtualMachine/tmpl-*"} }), clone(9000), ""},
		"guest_by_name":        {with(func(l *Limit) { l.Sources = []string{"VirtualMachine/mail-*"} }), clone(1000), "guest 1000"},
		"entry_is_gone":        {[]Limit{}, at(1000, config("memory", "2048")), "vmid 1000"},
		"limit_is_lifted":      {[]Limit{{}}, at(1000, config("memory", "2048")), ""},
		"one_limit_of_two":     {append(with(func(l *Limit) { l.VMIDs = []VMIDs{{1000, 1000}} }), web), at(1000, config("memory", "2048")), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.limits == nil {
				test.limits = []Limit{web}
			}
			g := Gate{Scope: scopeOf(test.limits...), RequiredApprovals: 1}
			got := g.Scope.Judge(test.step)
			if got.Held != (test.holds != "") || !strings.Contains(got.Message, test.holds) {
				t.Errorf("got held %t: %s, want %q", got.Held, got.Message, test.holds)
			}
			if got.Held && (got.Reason != reason.Scope || !strings.Contains(got.Hint, "trust.signers") || !strings.Contains(got.Message, "wanda")) {
				t.Errorf("got %s with hint %q, want the reason scope, the signer and the remedy", got.Reason, got.Hint)
			}
			if v := g.Judge(test.step); got.Held && v.Reason != reason.Scope {
				t.Errorf("got %+v from the gate, want the step held for its scope", v)
			}
		})
	}
}

// TestScopeJudgesTheSignerOfTheField checks that only the signer of a field limits what follows from it: alice, who has no limit, wrote the vmid.
func TestScopeJudgesTheSignerOfTheField(t *testing.T) {
	t.Parallel()
	label := journal.Label{Kind: "VirtualMachine", Name: "web-9"}
	wanda := journal.Introduction{Signer: "wanda", Entry: wandasEntry, Limited: true, Commit: "c0ffee0"}
	aliceWrote := journal.Introduction{Signer: "alice", Entry: "alices", Commit: "bada55"}
	step := plan.Step{Guest: guest.Ref{Kind: guest.VirtualMachine, Name: "web-9", VMID: 1000}, Op: cluster.OpConfig, TakesOwnership: true}
	by := func(i journal.Introduction, fields ...string) journal.Introduction { i.Fields = fields; return i }
	tests := map[string]struct {
		by   []journal.Introduction
		held bool
	}{
		"not_recorded":             {nil, false},
		"wanda":                    {[]journal.Introduction{by(wanda, journal.AllFields)}, true},
		"alice":                    {[]journal.Introduction{by(aliceWrote, journal.AllFields)}, false},
		"wanda_the_vmid":           {[]journal.Introduction{by(aliceWrote, journal.AllFields), by(wanda, FieldVMID)}, true},
		"wanda_the_adoption":       {[]journal.Introduction{by(aliceWrote, journal.AllFields), by(wanda, FieldAdopt)}, true},
		"wanda_another_field":      {[]journal.Introduction{by(aliceWrote, journal.AllFields), by(wanda, "memory")}, false},
		"alice_both":               {[]journal.Introduction{by(wanda, journal.AllFields), by(aliceWrote, FieldAdopt, FieldVMID)}, false},
		"unlimited_at_that_time":   {[]journal.Introduction{by(journal.Introduction{Signer: "wanda", Entry: wandasEntry, Commit: "c"}, journal.AllFields)}, false},
		"both_signers_of_one_text": {[]journal.Introduction{by(aliceWrote, journal.AllFields), by(wanda, journal.AllFields)}, true},
	}
	for name, test := range tests {
		s := scopeOf(Limit{Guests: []string{"VirtualMachine/web-*"}})
		s.Introduced[label] = journal.Introduced{By: test.by}
		if got := s.Judge(step); got.Held != test.held {
			t.Errorf("%s: got held %t: %s, want %t", name, got.Held, got.Message, test.held)
		}
	}
	s := scopeOf()
	s.Limits = nil
	if got := s.Judge(step); got.Held {
		t.Errorf("got %q without a policy, want nothing checked", got.Message)
	}
}

func TestScopeAuthors(t *testing.T) {
	t.Parallel()
	ref := guest.Ref{Kind: guest.VirtualMachine, Name: "web-9", VMID: 205}
	by := func(signer string, fields ...string) journal.Introduction {
		return journal.Introduction{Signer: signer, Fields: fields}
	}
	s := Scope{Introduced: map[journal.Label]journal.Introduced{guard.LabelOf(ref): {By: []journal.Introduction{
		by("alice", journal.AllFields), by("bob", "net0", "spec.pool", FieldFolder), by("carol", "cores", FieldRecreate),
	}}, {Kind: "Cluster", Name: "home"}: {By: []journal.Introduction{by("alice", journal.AllFields), by("bob", FieldGuards)}}, {Kind: "Policy", Name: "two-nics"}: {By: []journal.Introduction{by("carol", journal.AllFields)}}}, Cluster: "home"}
	weakens := func(field guest.GuardField, of ...guard.Object) plan.Step {
		return plan.Step{Weakens: &guard.Weakening{Field: field, Guests: of}}
	}
	changes := func(keys ...string) (list []guest.Change) {
		for _, key := range keys {
			list = append(list, guest.Change{Key: key})
		}
		return list
	}
	tests := map[string]struct {
		step plan.Step
		want string
	}{
		"key":           {plan.Step{Op: cluster.OpConfig, Changes: changes("net0")}, "bob"},
		"other_key":     {plan.Step{Op: cluster.OpConfig, Changes: changes("memory")}, "alice"},
		"two_keys":      {plan.Step{Op: cluster.OpConfig, Changes: changes("net0", "cores")}, "bob carol"},
		"pool":          {plan.Step{Op: cluster.OpPool, Changes: changes("pool")}, "bob"},
		"restart":       {plan.Step{Op: cluster.OpReboot, Pending: []string{"cores=4", "memory"}}, "alice carol"},
		"destroy":       {plan.Step{Op: cluster.OpDestroy}, "alice"},
		"creation":      {plan.Step{Op: cluster.OpCreate, Recreates: true}, "alice carol"},
		"guard":         {weakens(guest.GuardRecreate, guard.Object{Ref: ref}), "carol"},
		"other_guard":   {weakens(guest.GuardDestroy, guard.Object{Ref: ref}), "alice"},
		"cluster_guard": {weakens("guards.approvals"), "bob"},
		"policy":        {weakens("Policy/two-nics"), "carol"},
		"other_policy":  {weakens("Policy/other"), ""},
		"folder":        {weakens(guard.GuardPlace, guard.Object{Ref: ref}), "bob"},
		"other_guest":   {plan.Step{Op: cluster.OpDestroy, Guest: guest.Ref{Kind: guest.VirtualMachine, Name: "other"}}, ""},
	}
	for name, test := range tests {
		if test.step.Guest.Name == "" {
			test.step.Guest = ref
		}
		var names []string
		for _, n := range []string{"alice", "bob", "carol"} {
			if s.Authors(test.step)[n] {
				names = append(names, n)
			}
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
