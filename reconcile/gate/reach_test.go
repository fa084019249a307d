package gate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
)

const olgasEntry = "fedcba9876543210"

var (
	both = []string{"approve", "operate"} // roles

	web1 = guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}
	db1  = guest.Ref{Kind: guest.VirtualMachine, Name: "db-1", VMID: 202}
	db2  = guest.Ref{Kind: guest.VirtualMachine, Name: "db-2", VMID: 203} // its manifest was removed
	db3  = guest.Ref{Kind: guest.VirtualMachine, Name: "db-3", VMID: 204} // it is gone
	db4  = guest.Ref{Kind: guest.VirtualMachine, Name: "db-4", VMID: 205} // it is to be created
	old  = guest.Ref{Kind: guest.VirtualMachine, Name: "db-9", VMID: 209} // its manifest was removed under an older release
)

// reachWorld is a gate of a cluster with web servers in web/, databases in db/, and an approver.
func reachWorld() Gate {
	wanted := func(ref guest.Ref, file string) guest.Desired {
		return guest.Desired{Ref: ref, Origin: guest.Origin{File: file}, Lifecycle: guest.Lifecycle{RebootPolicy: guest.RebootApprove}}
	}
	owned := make(map[int]journal.Owned)
	for _, ref := range []guest.Ref{web1, db1, db2, old} {
		owned[ref.VMID] = journal.Owned{VMID: ref.VMID, Kind: string(ref.Kind), Name: ref.Name, Identity: "identity"}
	}
	guarded := func(ref guest.Ref, file string) journal.Guarded {
		return journal.Guarded{VMID: ref.VMID, Kind: string(ref.Kind), Name: ref.Name, File: file, Identity: "identity", Destroy: "approve", Recreate: "approve"}
	}
	gone := guarded(db3, "db/db-3.yaml")
	gone.Gone = true
	remembered := map[int]journal.Guarded{201: guarded(web1, "web/web-1.yaml"), 202: guarded(db1, "db/db-1.yaml"), 203: guarded(db2, "db/db-2.yaml"), 204: gone, 209: guarded(old, "")}
	g := Gate{
		Cluster: "home", NamedGuests: 2, NamedObjects: 1, MaxDestroy: 9, RequiredApprovals: 1, Approvals: Approvals{}, Owned: owned, Remembered: remembered,
	}
	g.Now = g.Now.AddDate(25, 0, 0)
	guests := []guest.Desired{wanted(web1, "web/web-1.yaml"), wanted(db1, "db/db-1.yaml"), wanted(db3, "db/db-3.yaml"), wanted(db4, "db/db-4.yaml")}
	g.Policies = NewPolicies(guests)
	g.Scope = Scope{
		Cluster: "home", Limits: Limits{olgasEntry: {{Name: "olga", May: both}}}, Owned: owned, Guarded: remembered, Guests: guests,
		Objects: map[journal.ObjectID]journal.OwnedObject{
			{Kind: "Pool", ID: "db"}:   {Kind: "Pool", ID: "db", Name: "db", Identity: "identity", File: "db/pool.yaml"},
			{Kind: "IPSet", ID: "web"}: {Kind: "IPSet", ID: "web", Name: "web", Identity: "identity", File: "web/set.yaml"},
		},
		Policies: map[string]journal.PolicyInForce{
			"root":    {Name: "root", File: "policy.yaml", When: "true"},
			"db":      {Name: "db", File: "db/policy.yaml", When: "true"},
			"limited": {Name: "limited", File: "policies/db.yaml", When: "true", By: []journal.PolicySigner{{Signer: "dora", Paths: []string{"db"}, Guests: []string{"VirtualMachine/db-*", "Policy/*"}}}},
		},
	}
	return g
}

// reaching are all ways in which a step can reach something. Guests and paths are the scope of an approver which covers it; without them, only an approver without
// a scope does.
func reaching(t *testing.T, g *Gate) map[string]struct {
	step          plan.Step
	guests, paths []string
} {
	t.Helper()
	on := func(ref guest.Ref, op cluster.Op, class guest.Class, keys ...string) plan.Step {
		s := plan.Step{Guest: ref, Op: op, Class: class, Calls: []cluster.Call{{Op: op, VMID: ref.VMID}}}
		for _, key := range keys {
			s.Changes = append(s.Changes, guest.Change{Key: key, Class: class})
		}
		return s
	}
	ordered := func(ref guest.Ref, op cluster.Op) plan.Step {
		s := on(ref, op, guest.Destructive)
		s.Order = &order.Open{Request: order.Request{Op: op, Guest: ref}, Order: journal.Order{Ordered: journal.Ordered{Key: "order", Signer: "otto"}}}
		return s
	}
	weakens := func(field guest.GuardField, refs ...guest.Ref) plan.Step {
		w := guard.Weakening{Field: field, Old: "deny", New: "allow", Digest: "00000000000000000000000000000000"}
		for _, ref := range refs {
			w.Guests = append(w.Guests, guard.Object{Ref: ref, Identity: "identity"})
		}
		return plan.WeakeningStep(guest.Ref{}, &w)
	}
	object := func(kind guest.Kind, id string, op cluster.Op, loses ...guest.Ref) plan.Step {
		s := on(guest.Ref{Kind: kind, Name: id}, op, guest.Destructive)
		s.Object = &plan.ObjectStep{ID: id, Identity: "identity"}
		s.Loses = losses(loses...)
		return s
	}
	detach := on(db1, cluster.OpConfig, guest.Live, "scsi1")
	detach.Loses = losses(db1)
	pool := on(web1, cluster.OpPool, guest.Live)
	pool.Loses = losses(web1, db1)
	set := object("IPSet", "web", cluster.OpObjectSet, web1)
	set.File, set.Object.Whole = "web/set.yaml", &plan.ContentChange{Final: "list", Concerns: []guest.Ref{web1, db1}}
	inDB := object("Pool", "db", cluster.OpObjectSet, db1)
	inDB.File = "db/pool.yaml"
	elsewhere := object("Pool", "db", cluster.OpObjectSet)
	elsewhere.File, elsewhere.Doubt = "other/pool.yaml", "doubt"
	recreate := on(db3, cluster.OpCreate, guest.Live)
	recreate.Recreates = true
	recreateElsewhere := on(guest.Ref{Kind: guest.VirtualMachine, Name: "web-9", VMID: 250}, cluster.OpCreate, guest.Live)
	recreateElsewhere.Recreates, recreateElsewhere.GoneVMID = true, 204
	g.Scope.Guests = append(g.Scope.Guests, guest.Desired{Ref: recreateElsewhere.Guest, Origin: guest.Origin{File: "web/web-9.yaml"}})
	image := func(file string) plan.Step {
		return plan.Step{
			Guest: guest.Ref{Kind: "Image", Name: "debian"}, Op: cluster.OpDeleteFile, Class: guest.Destructive, File: file, Volumes: []string{"local:iso/d.iso"},
			Calls: []cluster.Call{{Op: cluster.OpDeleteFile}}, Former: &journal.File{Downloaded: journal.Downloaded{Name: "debian", File: "images/debian.yaml"}},
		}
	}
	create := on(db4, cluster.OpCreate, guest.Live)
	g.Rules = rulesOf(t, g.Scope.Guests, policy.Rule{Name: "asks", On: policy.OnStep, When: `step.op == "delete-file" || new.name == "db-4"`, Operations: []string{"delete-file", "create"}, Result: policy.RequireApproval, Approvals: 1})
	db, dbFolder := []string{"VirtualMachine/db-*"}, []string{"db"}
	all, bothFolders := []string{"VirtualMachine/web-1", "VirtualMachine/db-*"}, []string{"web", "db"}
	return map[string]struct {
		step          plan.Step
		guests, paths []string
	}{
		"destroy":                     {on(db2, cluster.OpDestroy, guest.Destructive), db, dbFolder},
		"destroy_of_an_unknown_file":  {step: on(old, cluster.OpDestroy, guest.Destructive)},
		"reboot":                      {on(db1, cluster.OpReboot, guest.Disruptive), db, dbFolder},
		"interruption":                {on(db1, cluster.OpConfig, guest.Disruptive, "net0"), db, dbFolder},
		"create_again":                {recreate, db, dbFolder},
		"create_again_with_a_vmid":    {recreateElsewhere, []string{"VirtualMachine/web-*", "VirtualMachine/db-3"}, bothFolders},
		"creation_asked_by_a_policy":  {create, db, dbFolder},
		"loss_of_the_guest_itself":    {detach, db, dbFolder},
		"loss_of_another_guest":       {pool, all, bothFolders},
		"weaker_guard":                {weakens(guest.GuardDestroy, db1), db, dbFolder},
		"weaker_guard_of_a_removed":   {weakens(guest.GuardDestroy, db2), db, dbFolder},
		"weaker_guard_of_several":     {weakens(guest.GuardDestroy, web1, db1), all, bothFolders},
		"weaker_guard_of_the_cluster": {step: weakens(guard.ClusterApprovals)},
		"more_destroys_a_day":         {step: weakens(guard.ClusterMaxDestroy)},
		"root_policy":                 {step: weakens("Policy/root")},
		"policy_of_a_folder":          {weakens("Policy/db"), nil, dbFolder},
		"policy_of_a_limited_signer":  {weakens("Policy/limited"), []string{"VirtualMachine/db-*", "Policy/*"}, dbFolder},
		"order_stop":                  {ordered(db1, cluster.OpStop), db, dbFolder},
		"order_rollback":              {ordered(db1, cluster.OpRollback), db, dbFolder},
		"order_delete_snapshot":       {ordered(db1, cluster.OpDeleteSnapshot), db, dbFolder},
		"object_removed":              {object("Pool", "db", cluster.OpObjectRemove), []string{"Pool/db"}, dbFolder},
		"object_in_another_folder":    {elsewhere, []string{"Pool/db"}, []string{"db", "other"}},
		"object_removed_with_losses":  {object("Pool", "db", cluster.OpObjectRemove, db1, web1), append([]string{"Pool/*"}, all...), bothFolders},
		"object_changed_with_losses":  {inDB, append([]string{"Pool/db"}, db...), dbFolder},
		"list_changed":                {set, append([]string{"IPSet/web"}, all...), bothFolders},
		"file_deleted":                {image("images/debian.yaml"), []string{"Image/*"}, []string{"images"}},
		"file_in_another_folder":      {image("other/debian.yaml"), []string{"Image/*"}, []string{"images", "other"}},
		"file_of_a_removed_image":     {image(""), []string{"Image/debian"}, []string{"images/debian.yaml"}},
	}
}

func losses(refs ...guest.Ref) []kind.Weakening {
	var list []kind.Weakening
	for _, ref := range refs {
		list = append(list, kind.Weakening{Guest: ref, Field: guest.GuardBackup, Old: "in a job", New: "in no job"})
	}
	return list
}

// TestApprovalsNeedTheScope: an approval counts only if the scope of its signer covers everything that the step reaches, both the scope at the acceptance and the present
// one.
func TestApprovalsNeedTheScope(t *testing.T) {
	t.Parallel()
	type limits = []Limit
	scoped := func(guests, paths []string) Limit {
		return Limit{Name: "olga", May: both, Guests: guests, Paths: paths}
	}
	without := func(role string) Limit {
		l := scoped(nil, nil)
		l.May = slices.DeleteFunc(slices.Clone(both), func(r string) bool { return r == role })
		return l
	}
	everything := scoped(nil, nil)
	foreign := []Limit{scoped([]string{"VirtualMachine/mail-*"}, nil), scoped(nil, []string{"mail"}), scoped([]string{"*/*"}, []string{"mail"})}
	world := reachWorld()
	for name := range reaching(t, &world) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := reachWorld()
			way := reaching(t, &g)[name]
			// count judges the step with an approval of a signer with these scopes.
			count := func(accepted Limit, entry string, present limits, rest ...Limit) Verdict {
				g := g
				g.Scope.Limits = Limits{"other": append(rest, Limit{Name: "otto", May: both})}
				if present != nil {
					g.Scope.Limits[olgasEntry] = present
				}
				digest := g.Judge(way.step).Digest
				if digest == "" {
					t.Fatalf("got %+v, want a step that waits for an approval", g.Judge(way.step))
				}
				g.Approvals = Approvals{digest: {{Key: "k", Person: "olga", Subject: "olga@lab.test", Entry: entry, Guests: accepted.Guests, Paths: accepted.Paths, Proven: g.Now}}}
				return g.Judge(way.step)
			}
			counts := func(what string, v Verdict, want bool) {
				t.Helper()
				if v.Held == want {
					t.Errorf("%s: got %+v, want an approval that counts: %t", what, v, want)
				}
				if v.Held && (len(v.Uncounted) != 1 || v.Uncounted[0].Reason != UncountedScope || len(v.ApprovalKeys) != 0) {
					t.Errorf("%s: got %+v, want that the approval is outside of the scope, and not used up", what, v)
				}
			}
			counts("no scope", count(everything, olgasEntry, limits{everything}), true)
			counts("an older release", count(everything, "", limits{everything}), true)
			counts("the entry is gone", count(everything, olgasEntry, nil), false)
			counts("the name is gone", count(everything, "", nil), false)
			for what, l := range map[string]Limit{"without the role": without("approve"), "with an end before": {Name: "olga", May: both, Until: g.Now}, "with a later beginning": {Name: "olga", May: both, From: g.Now.Add(1)}} {
				counts(what, count(everything, olgasEntry, limits{l}), false)
				counts("one of two times of the entry "+what, count(everything, olgasEntry, limits{l, everything}), true)
				counts("an older release, "+what, count(everything, "", limits{l}), false)
			}
			counts("without another role", count(everything, olgasEntry, limits{without("operate")}), true)
			for _, l := range foreign {
				counts("accepted with a foreign scope", count(l, olgasEntry, limits{everything}), false)
				counts("present foreign scope", count(everything, olgasEntry, limits{l}), false)
				counts("an older release, present foreign scope", count(everything, "", limits{l}), false)
				counts("an older release, one of two entries with the name", count(everything, "", limits{everything}, l), false)
				counts("one of two times of the entry", count(everything, olgasEntry, limits{l, everything}), true)
			}
			for what, l := range map[string]Limit{"guests": scoped(way.guests, nil), "paths": scoped(nil, way.paths), "both": scoped(way.guests, way.paths)} {
				if !l.isScoped() {
					continue
				}
				counts(what+" at the acceptance", count(l, olgasEntry, limits{everything}), true)
				counts(what+" at present", count(everything, olgasEntry, limits{l}), true)
				counts(what+" always", count(l, olgasEntry, limits{l}), true)
			}
			if way.guests == nil && way.paths == nil { // even patterns of everything are a scope
				counts("all labels", count(scoped([]string{"*/*"}, nil), olgasEntry, limits{everything}), false)
				counts("all folders", count(scoped(nil, []string{"web", "db", "images", "policy.yaml"}), olgasEntry, limits{everything}), false)
			}
			for i := range way.guests {
				others := slices.Delete(slices.Clone(way.guests), i, i+1)
				if len(others) > 0 {
					counts("without "+way.guests[i], count(scoped(others, nil), olgasEntry, limits{everything}), false)
				}
			}
		})
	}
}

// TestNameDoesNotWidenAnApproval: the label of a manifest proves nothing about the guest that has its vmid.
func TestNameDoesNotWidenAnApproval(t *testing.T) {
	t.Parallel()
	web := Limit{Name: "olga", May: both, Guests: []string{"VirtualMachine/web-*"}}
	listed := web
	listed.VMIDs = []VMIDs{{200, 299}}
	renamed := guest.Ref{Kind: guest.VirtualMachine, Name: "web-2", VMID: 202} // db-1 in the journal
	for name, test := range map[string]struct {
		ref   guest.Ref
		limit Limit
		with  func(*Scope)
		want  string
	}{
		"its_guest":              {ref: web1, limit: web},
		"name_of_another_guest":  {ref: renamed, limit: web, want: "signer olga may not touch VirtualMachine/web-2, vmid 202, which belongs to VirtualMachine/db-1"},
		"also_with_vmids":        {ref: renamed, limit: listed, want: "may not touch VirtualMachine/web-2"}, // its last manifest was db-1
		"taken_over_with_vmids":  {ref: renamed, limit: listed, with: func(s *Scope) { s.Guarded = nil }},
		"foreign_guest":          {ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-7", VMID: 700}, limit: web, want: "vmid 700, which the source did not create"},
		"policies_of_its_folder": {ref: web1, limit: Limit{Name: "olga", May: both, Paths: []string{"web"}}, with: func(s *Scope) { s.Left = map[int][]journal.Former{201: {{File: "db/web-1.yaml"}}} }, want: "signer olga may not change db/web-1.yaml"},
		"unknown_file": {ref: web1, limit: web, with: func(s *Scope) {
			s.Guarded = map[int]journal.Guarded{201: {VMID: 201, Kind: "VirtualMachine", Name: "web-1", File: journal.UnknownFile}}
		}, want: "the file of the last manifest of VirtualMachine/web-1 (201) is not known"},
		"held_to_another_file": {ref: web1, limit: Limit{Name: "olga", May: both, Paths: []string{"web"}}, with: func(s *Scope) { s.Guests[0].Origin.File = "db/web-1.yaml" }, want: "signer olga may not change db/web-1.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := reachWorld().Scope
			s.Guests = append(s.Guests, guest.Desired{Ref: renamed, Origin: guest.Origin{File: "web/web-2.yaml"}}, guest.Desired{Ref: guest.Ref{VMID: 700}, Origin: guest.Origin{File: "web/web-7.yaml"}})
			if test.with != nil {
				test.with(&s)
			}
			s.Limits = Limits{olgasEntry: {test.limit}}
			got := s.Order(journal.Ordered{Signer: "olga", Entry: olgasEntry}, web1, test.ref)
			if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestPathsLimitNoAdoption: a signer with paths may adopt a guest that no manifest described, and its approvals count for the guest. With guests, the adoption takes vmids.
func TestPathsLimitNoAdoption(t *testing.T) {
	t.Parallel()
	adopted := guest.Ref{Kind: guest.VirtualMachine, Name: "web-7", VMID: 700}
	step := plan.Step{Guest: adopted, Op: cluster.OpConfig, TakesOwnership: true, Calls: []cluster.Call{{Op: cluster.OpConfig, VMID: 700}}}
	label := journal.Label{Kind: "VirtualMachine", Name: "web-7"}
	for name, test := range map[string]struct {
		limit Limit
		want  bool
	}{
		"paths":             {Limit{Paths: []string{"web"}}, true},
		"paths_and_guests":  {Limit{Paths: []string{"web"}, Guests: []string{"VirtualMachine/web-*"}}, false},
		"with_vmids":        {Limit{Paths: []string{"web"}, Guests: []string{"VirtualMachine/web-*"}, VMIDs: []VMIDs{{700, 700}}}, true},
		"in_another_folder": {Limit{Paths: []string{"db"}}, true}, // the verification of the commit refuses that, and no approval counts
	} {
		g := reachWorld()
		s := g.Scope
		test.limit.Name, test.limit.May = "pia", both
		s.Limits = Limits{"pia": {test.limit}}
		s.Introduced = map[journal.Label]journal.Introduced{label: {Kind: label.Kind, Name: label.Name, By: []journal.Introduction{{
			Signer: "pia", Entry: "pia", Limited: len(test.limit.Guests) > 0, Fields: []string{journal.AllFields},
		}}}}
		s.Guests = append(s.Guests, guest.Desired{Ref: adopted, Origin: guest.Origin{File: "web/web-7.yaml"}})
		if v := s.Judge(step); v.Held == test.want {
			t.Errorf("%s: got %+v for the adoption, want it allowed: %t", name, v, test.want)
		}
		why := s.Order(journal.Ordered{Signer: "pia", Entry: "pia", Paths: test.limit.Paths, Guests: test.limit.Guests}, adopted)
		if covers := test.want && name != "in_another_folder"; (why == "") != covers {
			t.Errorf("%s: got %q for its signatures, want the guest covered: %t", name, why, covers)
		}
	}
}

// TestOrderNeedsThePresentRole: an order of a signer who may not operate any more is held.
func TestOrderNeedsThePresentRole(t *testing.T) {
	t.Parallel()
	s := reachWorld().Scope
	for want, l := range map[string]Limit{
		"": {Name: "olga", May: []string{"operate"}},
		"the entry olga of trust.signers lacks the role operate, which takes may: [approve, operate]": {Name: "olga", May: []string{"approve"}},
		"the entry olga of trust.signers does not trust what was signed at 0001-01-01T00:00:00Z":      {Name: "olga", May: both, From: time.Unix(0, 0)},
	} {
		s.Limits = Limits{olgasEntry: {l}}
		if got := s.Order(journal.Ordered{Signer: "olga", Entry: olgasEntry}, web1); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestReasonOfAnOlderApprovalStaysTheSame: an approval without an entry is compared with several entries, and the first reason in their order is shown each time.
func TestReasonOfAnOlderApprovalStaysTheSame(t *testing.T) {
	t.Parallel()
	s := reachWorld().Scope
	s.Limits = Limits{"1": {{Name: "olga", May: both, Paths: []string{"a"}}}, "2": {{Name: "olga", May: both, Guests: []string{"VirtualMachine/a"}}}, "3": {{Name: "olga", May: both, Guests: []string{"Container/a"}, Paths: []string{"c"}}}}
	const want = "signer olga may not change web/web-1.yaml, which is or was the file of VirtualMachine/web-1"
	for range 100 {
		if got := s.outside(signature{role: "approve", signer: "olga"}, reach{things: []reached{s.reachedGuest(web1)}}); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
