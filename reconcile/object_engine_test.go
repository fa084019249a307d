package reconcile_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// objectCase is an object of one kind, in the ways in which every kind is tested.
type objectCase struct {
	label    string                                   // "Pool/web"
	manifest func(lines ...string) string             // with further lines of its spec
	route    string                                   // of the call that makes it, "POST /pools"
	reads    string                                   // of the list
	path     string                                   // of its calls, for faults
	live     func(sim *pvesim.Sim) (string, bool)     // what is compared, without the marker, and whether it exists
	want     string                                   // of live
	edit     func(sim *pvesim.Sim, keepMarker string) // by hand; the comment keeps what is given
	foreign  func(sim *pvesim.Sim)                    // made by hand
	remove   func(sim *pvesim.Sim)                    // by hand
	needs    []string                                 // privileges that the documented role lacks
	around   func(t *testing.T, sim *pvesim.Sim)      // what has to exist before; nil is nothing
	release  string                                   // of the cluster; "" is the newest
}

// objectCases are one object of each kind of package kinds.
var objectCases = map[string]objectCase{
	"pool": {
		label: "Pool/web", route: "POST /pools", reads: "GET /pools", path: "/pools$", want: "web servers",
		manifest: func(lines ...string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: Pool\nmetadata: {name: web}\nspec:\n  comment: web servers\n" + indented(lines)
		},
		live:    func(sim *pvesim.Sim) (string, bool) { return withoutMarker(sim.PoolComment("web")) },
		edit:    func(sim *pvesim.Sim, marker string) { sim.SetPoolComment("web", "old servers "+marker) },
		foreign: func(sim *pvesim.Sim) { sim.AddPool("web", "of another team") },
		remove:  func(sim *pvesim.Sim) { sim.RemovePool("web") },
	},
	"backup_job": {
		label: "BackupJob/nightly", route: "POST /cluster/backup", reads: "GET /cluster/backup", path: "/cluster/backup", want: "02:00 all=1 web servers",
		manifest: func(lines ...string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: nightly}\nspec:\n  comment: web servers\n  schedule: \"02:00\"\n  guests: {all: true}\n" + indented(lines)
		},
		live: func(sim *pvesim.Sim) (string, bool) {
			job := sim.BackupJob("nightly")
			comment, exists := withoutMarker(job["comment"], job != nil)
			if !exists {
				return "", false
			}
			return job["schedule"] + " all=" + job["all"] + " " + comment, true
		},
		edit: func(sim *pvesim.Sim, marker string) {
			sim.SetBackupJob("nightly", map[string]string{"schedule": "03:00", "vmid": "201", "enabled": "1", "comment": strings.TrimSpace("web servers " + marker)})
		},
		foreign: func(sim *pvesim.Sim) {
			sim.SetBackupJob("nightly", map[string]string{"schedule": "daily", "all": "1", "enabled": "1", "comment": "of another team"})
		},
		remove: func(sim *pvesim.Sim) { sim.RemoveBackupJob("nightly") },
		needs:  []string{"Sys.Modify", "Datastore.Allocate"},
	},
	"replication": {
		label: "Replication/9000-0", route: "POST /cluster/replication", reads: "GET /cluster/replication", path: "/cluster/replication", want: "pve2 */30 a copy",
		manifest: func(lines ...string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: Replication\nmetadata: {name: 9000-0}\nspec:\n  comment: a copy\n  target: pve2\n  schedule: \"*/30\"\n" + indented(lines)
		},
		live: func(sim *pvesim.Sim) (string, bool) {
			job := sim.Replication("9000-0")
			comment, exists := withoutMarker(job["comment"], job != nil && job["remove_job"] == "")
			if !exists {
				return "", false
			}
			return job["target"] + " " + job["schedule"] + " " + comment, true
		},
		edit: func(sim *pvesim.Sim, marker string) {
			sim.SetReplication("9000-0", map[string]string{"target": "pve2", "schedule": "*/5", "comment": strings.TrimSpace("a copy " + marker)})
		},
		foreign: func(sim *pvesim.Sim) {
			sim.SetReplication("9000-0", map[string]string{"target": "pve2", "disable": "1", "comment": "of another team"})
		},
		remove: func(sim *pvesim.Sim) { sim.RemoveReplication("9000-0") },
		needs:  []string{"VM.Replicate"},
	},
	"alias": {
		label: "Alias/office", route: "POST /cluster/firewall/aliases", reads: "GET /cluster/firewall/aliases", path: "/cluster/firewall/aliases", want: "10.1.0.0/24 second floor",
		manifest: func(lines ...string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: Alias\nmetadata: {name: office}\nspec:\n  comment: second floor\n  cidr: 10.1.0.0/24\n" + indented(lines)
		},
		live: func(sim *pvesim.Sim) (string, bool) {
			alias := sim.Alias("office")
			comment, exists := withoutMarker(alias["comment"], alias != nil)
			if !exists {
				return "", false
			}
			return alias["cidr"] + " " + comment, true
		},
		edit: func(sim *pvesim.Sim, marker string) {
			sim.SetAlias("Office", "10.2.0.0/24", strings.TrimSpace("second floor "+marker))
		},
		foreign: func(sim *pvesim.Sim) { sim.SetAlias("office", "10.3.0.9", "of another team") },
		remove:  func(sim *pvesim.Sim) { sim.RemoveAlias("office") },
		needs:   []string{"Sys.Modify"},
	},
	"ip_set": {
		label: "IPSet/admins", route: "POST /cluster/firewall/ipset", reads: "GET /cluster/firewall/ipset", path: "/cluster/firewall/ipset", want: "people",
		manifest: func(lines ...string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: IPSet\nmetadata: {name: admins}\nspec:\n  comment: people\n" + indented(lines)
		},
		live: func(sim *pvesim.Sim) (string, bool) {
			comment, _, exists := sim.IPSet("admins")
			return withoutMarker(comment, exists)
		},
		edit: func(sim *pvesim.Sim, marker string) {
			sim.SetIPSet("admins", strings.TrimSpace("others "+marker), "10.0.0.1")
		},
		foreign: func(sim *pvesim.Sim) { sim.SetIPSet("admins", "of another team", "10.0.0.0/24", "!10.0.0.1") },
		remove:  func(sim *pvesim.Sim) { sim.RemoveIPSet("admins") },
		needs:   []string{"Sys.Modify"},
	},
	"security_group": {
		label: "SecurityGroup/web", route: "POST /cluster/firewall/groups", reads: "GET /cluster/firewall/groups", path: "/cluster/firewall/groups", want: "web servers",
		manifest: func(lines ...string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: SecurityGroup\nmetadata: {name: web}\nspec:\n  comment: web servers\n" + indented(lines)
		},
		live: func(sim *pvesim.Sim) (string, bool) {
			comment, _, exists := sim.Group("web")
			return withoutMarker(comment, exists)
		},
		edit: func(sim *pvesim.Sim, marker string) { sim.SetGroup("web", strings.TrimSpace("old servers "+marker)) },
		foreign: func(sim *pvesim.Sim) {
			sim.SetGroup("web", "of another team", map[string]string{"type": "in", "action": "ACCEPT", "proto": "tcp", "dport": "80", "enable": "1"}, map[string]string{"type": "out", "action": "DROP", "enable": "0"})
		},
		remove: func(sim *pvesim.Sim) { sim.RemoveGroup("web") },
		needs:  []string{"Sys.Modify"},
	},
	"affinity_rule": {
		label: "AffinityRule/web", route: "POST /cluster/ha/rules", reads: "GET /cluster/ha/rules", path: "/cluster/ha/rules", want: "pve1:2 strict=1 disable= web servers",
		manifest: func(lines ...string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: AffinityRule\nmetadata: {name: web}\nspec:\n  comment: web servers\n  type: node\n" +
				"  guests: [vm:300]\n  nodes: [pve1:2]\n  strict: true\n  enabled: true\n" + indented(lines)
		},
		live: func(sim *pvesim.Sim) (string, bool) {
			rule := sim.HARule("web")
			comment, exists := withoutMarker(rule["comment"], rule != nil)
			if !exists {
				return "", false
			}
			return rule["nodes"] + " strict=" + rule["strict"] + " disable=" + rule["disable"] + " " + comment, true
		},
		edit: func(sim *pvesim.Sim, marker string) {
			sim.SetHARule("web", map[string]string{"type": "node-affinity", "resources": "vm:300", "nodes": "pve1", "disable": "1", "comment": strings.TrimSpace("web servers " + marker)})
		},
		foreign: func(sim *pvesim.Sim) {
			sim.SetHARule("web", map[string]string{"type": "node-affinity", "resources": "vm:300", "nodes": "pve1", "comment": "of another team"})
		},
		remove: func(sim *pvesim.Sim) { sim.RemoveHARule("web") },
		needs:  []string{"Sys.Console"},
		around: addManagedVM,
	},
	"group_of_release_8": {
		label: "AffinityRule/web", route: "POST /cluster/ha/groups", reads: "GET /cluster/ha/groups", path: "/cluster/ha/groups", want: "pve1:2 restricted=1 vm:300 web servers",
		manifest: func(lines ...string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: AffinityRule\nmetadata: {name: web}\nspec:\n  comment: web servers\n  type: node\n" +
				"  guests: [vm:300]\n  nodes: [pve1:2]\n  strict: true\n" + indented(lines)
		},
		live: func(sim *pvesim.Sim) (string, bool) {
			group, members := sim.HAGroup("web")
			comment, exists := withoutMarker(group["comment"], group != nil)
			if !exists {
				return "", false
			}
			return group["nodes"] + " restricted=" + group["restricted"] + " " + members + " " + comment, true
		},
		edit: func(sim *pvesim.Sim, marker string) {
			sim.SetHAGroup("web", map[string]string{"nodes": "pve1", "comment": strings.TrimSpace("web servers " + marker)})
		},
		foreign: func(sim *pvesim.Sim) {
			sim.SetHAGroup("web", map[string]string{"nodes": "pve1", "comment": "of another team"})
			sim.SetGroupOfResource(300, "web")
		},
		remove:  func(sim *pvesim.Sim) { sim.RemoveHAGroup("web") },
		needs:   []string{"Sys.Console"},
		around:  addManagedVM,
		release: "8.4.14",
	},
}

// addManagedVM adds the machine 300, which the HA manager manages.
func addManagedVM(t *testing.T, sim *pvesim.Sim) {
	t.Helper()
	if _, err := sim.AddVM(pvesim.Guest{VMID: 300}); err != nil {
		t.Fatal(err)
	}
	if err := sim.ManageByHA(300); err != nil {
		t.Fatal(err)
	}
}

func withoutMarker(comment string, exists bool) (string, bool) {
	text, _, _ := strings.Cut(comment, " gitops-")
	return text, exists
}

// forEachObject runs a test for an object of each kind, in a lab with one machine.
func forEachObject(t *testing.T, test func(t *testing.T, l *lab, c objectCase)) {
	t.Helper()
	for name, c := range objectCases {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}, Version: c.release}, func(t *testing.T, l *lab) {
				l.grant(c.needs...)
				if c.around != nil {
					c.around(t, l.sim)
				}
				l.files["web.yaml"], l.files["object.yaml"] = vmYAML("web-1", 201), c.manifest()
				test(t, l, c)
			})
		})
	}
}

// grant adds privileges on / to the agent's token.
func (l *lab) grant(privileges ...string) {
	role := pvesim.DefaultTokens()[1].ACL[0].Privileges
	l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Privileges: slices.Concat(role, privileges)}})
}

// markerOf returns the marker of the one object that the journal records.
func (l *lab) markerOf(c objectCase) string {
	for _, owned := range l.journal.State().Objects {
		if owned.Kind+"/"+owned.Name == c.label {
			return owned.Marker
		}
	}
	return ""
}

func (l *lab) wantLive(c objectCase, want string, exists bool) {
	l.Helper()
	if got, there := c.live(l.sim); got != want || there != exists {
		l.Errorf("got %q, exists %t, want %q, %t", got, there, want, exists)
	}
}

func (l *lab) objectHasReason(c objectCase, reason reason.Name) bool {
	return slices.ContainsFunc(l.object(c.label).Conditions, func(cond plan.Condition) bool { return cond.Reason == reason })
}

// TestObjectIsMadeAndRepaired converges an object of each kind. The converged cluster gets no write, and one list a minute; an edit by hand is repaired.
func TestObjectIsMadeAndRepaired(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(t *testing.T, l *lab, c objectCase) {
		l.push("an object", alice)
		stop := l.start()
		l.converge()
		l.wantLive(c, c.want, true)
		if g := l.object(c.label); g.Sync != report.Synced || g.Health != report.Healthy || g.VMID != 0 || g.ObservedAt.IsZero() {
			t.Errorf("got %+v, want it synced, healthy and read", g)
		}
		l.sim.ResetCounters()
		time.Sleep(10 * time.Minute)
		if counters := l.sim.Counters(); counters.Writes != 0 || counters.Routes[c.reads] > 40 {
			t.Errorf("got %d writes and %d lists in ten minutes, want none and few", counters.Writes, counters.Routes[c.reads])
		}
		c.edit(l.sim, l.markerOf(c))
		eventually(t, "the repair", func() bool { got, _ := c.live(l.sim); return got == c.want })
		l.converge()
		c.remove(l.sim)
		eventually(t, "the object to be made again", func() bool { _, exists := c.live(l.sim); return exists })
		l.converge()
		stop()
		l.sim.ResetCounters()
		defer l.start()()
		l.converge()
		if counters := l.sim.Counters(); counters.Writes != 0 {
			t.Errorf("got %d writes after a restart, want none: %v", counters.Writes, counters.Routes)
		}
	})
}

// TestForeignObjectIsLeftAlone finds an object that the agent did not make. It is changed only after the manifest asks to adopt it.
func TestForeignObjectIsLeftAlone(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(t *testing.T, l *lab, c objectCase) {
		c.foreign(l.sim)
		before, _ := c.live(l.sim)
		l.push("an object", alice)
		defer l.start()()
		eventually(t, "the conflict", func() bool { return l.objectHasReason(c, reason.NotManaged) })
		time.Sleep(5 * time.Minute)
		l.wantLive(c, before, true)
		l.files["object.yaml"] = c.manifest("adopt: ifUnmanaged")
		l.push("adopt it", alice)
		l.converge()
		l.wantLive(c, c.want, true)
		c.edit(l.sim, "gitops-01234567")
		edited, _ := c.live(l.sim)
		eventually(t, "the foreign marker", func() bool { return l.objectHasReason(c, reason.NotManaged) })
		l.wantLive(c, edited, true)
	})
}

// TestRemovedObjectWaitsForAnApproval removes the manifest. The object is removed once, after an approval; one that lost its marker is never removed.
func TestRemovedObjectWaitsForAnApproval(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(t *testing.T, l *lab, c objectCase) {
		l.push("an object", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "object.yaml")
		l.push("remove it", alice)
		eventually(t, "the hold", func() bool { return l.objectHasReason(c, reason.Approval) })
		l.wantLive(c, c.want, true)
		l.approve(l.object(c.label).Held[0].Digest)
		eventually(t, "the removal", func() bool { _, exists := c.live(l.sim); return !exists })
		eventually(t, "the end of the record", func() bool { return len(l.journal.State().Objects) == 0 })

		l.files["object.yaml"] = c.manifest()
		l.push("again", alice)
		l.converge()
		delete(l.files, "object.yaml")
		l.push("remove it again", alice)
		eventually(t, "the second hold", func() bool { return l.objectHasReason(c, reason.Approval) })
		digest := l.object(c.label).Held[0].Digest
		c.edit(l.sim, "")
		eventually(t, "the end of the second record", func() bool { return len(l.journal.State().Objects) == 0 })
		l.approve(digest)
		time.Sleep(5 * time.Minute)
		if _, exists := c.live(l.sim); !exists {
			t.Error("got an object without the marker removed")
		}
	})
}

// TestObjectCallWithoutReply loses the reply to each call, before and after it acts. The step is settled, and the call has one effect.
func TestObjectCallWithoutReply(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]pvesim.Fault{
		"dropped_after": {Kind: pvesim.DropAfter}, "dropped_before": {Kind: pvesim.DropBefore}, "garbage": {Kind: pvesim.InvalidJSON, AfterActing: true},
	} {
		t.Run(name, func(t *testing.T) {
			forEachObject(t, func(t *testing.T, l *lab, c objectCase) {
				object := l.files["object.yaml"]
				delete(l.files, "object.yaml")
				l.push("no object", alice)
				defer l.start()()
				l.converge()
				lose := func(method string) {
					once := fault
					once.Method, once.Path = method, c.path
					l.ok(l.sim.Inject(once))
				}
				lose("POST")
				l.files["object.yaml"] = object
				l.push("an object", alice)
				l.converge()
				l.wantLive(c, c.want, true)
				lose("PUT")
				c.edit(l.sim, l.markerOf(c))
				eventually(t, "the repair", func() bool { got, _ := c.live(l.sim); return got == c.want })
				l.converge()
				delete(l.files, "object.yaml")
				l.push("remove it", alice)
				eventually(t, "the hold", func() bool { return l.objectHasReason(c, reason.Approval) })
				if fault.Kind != pvesim.DropBefore { // the outcome of that call is unknown, which uses up the approval
					lose("DELETE")
				}
				l.approve(l.object(c.label).Held[0].Digest)
				l.converge()
				l.wantLive(c, "", false)
				if open := l.journal.State().Open; len(open) != 0 {
					t.Errorf("got open steps %+v, want none", open)
				}
			})
		})
	}
}

// TestUnusedKindsCostNothing counts the lists of a cluster without objects.
func TestUnusedKindsCostNothing(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(t *testing.T, l *lab, c objectCase) {
		delete(l.files, "object.yaml")
		l.push("no object", alice)
		defer l.start()()
		l.converge()
		reads := func() int { return int(l.sim.Counters().Routes[c.reads]) }
		l.sim.ResetCounters()
		time.Sleep(5 * time.Minute)
		without := reads()
		l.files["object.yaml"] = c.manifest()
		l.push("an object", alice)
		l.converge()
		l.sim.ResetCounters()
		time.Sleep(5 * time.Minute)
		if with := reads(); with-without < 4 || with-without > 6 {
			t.Errorf("got %d lists without and %d with an object in five minutes, want one a minute more", without, with)
		}
	})
}

// TestObservedObjectIsReportedOnly finds a difference of an object whose manifest has mode: observe. The mode ends without a change of a guest.
func TestObservedObjectIsReportedOnly(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(t *testing.T, l *lab, c objectCase) {
		delete(l.files, "web.yaml")
		l.push("an object and no guest", alice)
		defer l.start()()
		l.converge()
		l.files["object.yaml"] = c.manifest("mode: observe", "lifecycle: {destroy: deny}")
		l.push("observe it", alice)
		l.converge()
		c.edit(l.sim, l.markerOf(c))
		edited, _ := c.live(l.sim)
		eventually(t, "the hold", func() bool { return l.objectHasReason(c, reason.ManifestForbids) })
		time.Sleep(2 * time.Minute)
		l.wantLive(c, edited, true)
		l.files["object.yaml"] = c.manifest("lifecycle: {destroy: allow}")
		l.push("enforce it", alice)
		l.converge()
		l.wantLive(c, c.want, true)
		l.files["web.yaml"] = vmYAML("web-1", 201)
		delete(l.files, "object.yaml")
		l.push("remove it", alice)
		eventually(t, "the strongest permission", func() bool { return l.objectHasReason(c, reason.ManifestForbids) })
	})
}

// TestRenamedManifestKeepsItsObject gives the manifest another name and the same id.
func TestRenamedManifestKeepsItsObject(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(t *testing.T, l *lab, c objectCase) {
		l.push("an object", alice)
		defer l.start()()
		l.converge()
		marker := l.markerOf(c)
		renamed := c
		renamed.label = strings.Replace(c.label, "/", "/new-", 1)
		_, name, _ := strings.Cut(c.label, "/")
		l.files["object.yaml"] = strings.Replace(c.manifest("id: "+name), "{name: "+name+"}", "{name: new-"+name+"}", 1)
		l.sim.ResetCounters()
		l.push("another name", alice)
		l.converge()
		eventually(t, "the new name in the record", func() bool { return l.markerOf(renamed) == marker })
		if _, removed := l.sim.Counters().Routes[strings.Replace(c.route, "POST", "DELETE", 1)]; removed || l.object(c.label).Name != "" {
			t.Errorf("got the object removed, or reported under its former name: %v", l.sim.Counters().Routes)
		}
	})
}

// TestCrashAtEveryObjectCall crashes the agent before and after each kind of call about an object, and starts it again on the same state. Each effect must have
// happened once, by the simulator's own count.
func TestCrashAtEveryObjectCall(t *testing.T) {
	t.Parallel()
	calls := map[string]struct {
		op      cluster.Op
		method  string
		exists  bool // before the call
		prepare func(l *lab, c objectCase)
	}{
		"add":    {cluster.OpObjectAdd, http.MethodPost, false, func(l *lab, c objectCase) { l.files["object.yaml"] = c.manifest("lifecycle: {destroy: allow}") }},
		"set":    {cluster.OpObjectSet, http.MethodPut, true, func(l *lab, c objectCase) { c.edit(l.sim, l.markerOf(c)) }},
		"remove": {cluster.OpObjectRemove, http.MethodDelete, true, func(l *lab, _ objectCase) { delete(l.files, "object.yaml") }},
	}
	for name, call := range calls {
		for _, at := range []string{"before-call", "after-call"} {
			t.Run(name+"/"+at, func(t *testing.T) {
				forEachObject(t, func(t *testing.T, l *lab, c objectCase) {
					delete(l.files, "object.yaml")
					if call.exists {
						l.files["object.yaml"] = c.manifest("lifecycle: {destroy: allow}")
					}
					l.crashAndRecover(call.op, at, func(l *lab) {
						call.prepare(l, c)
						l.push(name, alice)
					})
					count := 0
					for path, methods := range l.sim.Counters().Objects {
						if !strings.HasPrefix(path, "/pools/gitops-agent") {
							count += methods[call.method]
						}
					}
					if _, exists := c.live(l.sim); count != 1 || exists != (name != "remove") {
						t.Errorf("got %d effects of %s, exists %t: %v", count, call.method, exists, l.sim.Counters().Objects)
					}
				})
			})
		}
	}
}

// TestObjectsWithoutGuests removes one alias of a repository without guests, and then the others: as long as the manifests name anything, `destroy: allow` is enough; then
// the last removal is held.
func TestObjectsWithoutGuests(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		for _, name := range []string{"one", "two", "three"} {
			l.files[name+".yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: Alias\nmetadata: {name: " + name + "}\nspec: {cidr: 10.1.0.0/24, lifecycle: {destroy: allow}}\n"
		}
		l.push("aliases", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "one.yaml")
		l.push("one less", alice)
		eventually(t, "the removal", func() bool { return l.sim.Alias("one") == nil })
		l.converge()
		delete(l.files, "two.yaml")
		delete(l.files, "three.yaml")
		l.push("nothing left", alice)
		for _, label := range []string{"Alias/two", "Alias/three"} {
			eventually(t, "the hold of "+label, func() bool {
				return l.objectHasReason(objectCase{label: label}, reason.DestroyLimit)
			})
		}
		time.Sleep(time.Hour)
		if l.sim.Alias("two") == nil || l.sim.Alias("three") == nil {
			t.Errorf("got %v and %v, want nothing removed if the manifests name nothing", l.sim.Alias("two"), l.sim.Alias("three"))
		}
	})
}

// TestLeftOverObjectDestroysNoGuest removes the manifests of all guests, as a wrong source.paths does, and leaves an alias.
func TestLeftOverObjectDestroysNoGuest(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		l.files["web.yaml"], l.files["office.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}"), officeAlias
		l.push("a guest and an alias", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "web.yaml")
		l.push("an alias", alice)
		eventually(t, "the hold", func() bool {
			return l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, reason.DestroyLimit)
		})
		time.Sleep(time.Hour)
		if got := l.sim.Effects(201, pvesim.Destroyed); got != 0 {
			t.Errorf("got %d destroys, want none", got)
		}
	})
}

// TestFlappingObjectOutlivesRestarts undoes every repair of an object of each kind until repairs are spaced out, and restarts the agent. They stay spaced out, with words
// that fit the object, until its own change; moving its lines is none.
func TestFlappingObjectOutlivesRestarts(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(t *testing.T, l *lab, c objectCase) {
		l.push("an object", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		if got := l.journal.State().Flapping; len(got) != 0 {
			t.Errorf("got records %v after normal work, want none", got)
		}
		marker := l.markerOf(c)
		flapping := func() (plan.Condition, bool) {
			list := l.object(c.label).Conditions
			at := slices.IndexFunc(list, func(cond plan.Condition) bool { return cond.Reason == reason.Flapping })
			if at < 0 {
				return plan.Condition{}, false
			}
			return list[at], true
		}
		flaps := func() bool { _, found := flapping(); return found }
		eventually(t, "spaced repairs", func() bool {
			if got, _ := c.live(l.sim); got == c.want && !flaps() {
				c.edit(l.sim, marker)
			}
			return flaps()
		})
		if cond, _ := flapping(); strings.Contains(cond.Message, "the guest") || strings.Contains(cond.Hint, "ignoreFields") || cond.Hint == "" {
			t.Errorf("got %+v, want words about the object, and a field that it has", cond)
		}
		for range 2 {
			stop()
			stop = l.start()
			eventually(t, "the condition after a restart", func() bool { return l.object(c.label).Name != "" && flaps() })
		}
		l.files["object.yaml"] = "# moved\n" + c.manifest()
		l.waitForAcceptance(l.push("other lines", alice))
		time.Sleep(5 * time.Second)
		if len(l.journal.State().Flapping) != 1 {
			t.Error("got the repairs forgotten after other lines of the manifest, want their record")
		}
		l.cure(reason.FindObjectEditor, l.saysOf(c.label), func([]string) {
			l.files["object.yaml"] = c.manifest("mode: observe")
			l.waitForAcceptance(l.push("its own change", alice))
		})
		time.Sleep(5 * time.Second)
		if got := l.journal.State().Flapping; len(got) != 0 || flaps() {
			t.Errorf("got records %v after the object's own change, want none", got)
		}
	})
}

// TestFlappingRecordOfAnObjectEnds lets the level of an object leak. Names of objects are unlimited, so that its record does not stay.
func TestFlappingRecordOfAnObjectEnds(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		gone := object.KeyOf(0, "Pool/gone")
		l.ok(l.journal.Append(t.Context(), journal.NewFlapping(gone, 2)))
		time.Sleep(time.Minute)
		if got := l.journal.State().Flapping; len(got) != 1 {
			t.Errorf("got %v after a minute, want the record", got)
		}
		time.Sleep(5 * time.Minute)
		if got := l.journal.State().Flapping; len(got) != 0 {
			t.Errorf("got %v, want the record ended", got)
		}
	})
}

// TestUnreadableReplicationStopsNoOther describes the jobs of two guests, on one of which the token has no privilege: this job alone is not observed.
func TestUnreadableReplicationStopsNoOther(t *testing.T) {
	runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
		c := objectCases["replication"]
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 300, Config: "name: other\nmemory: 512\n"})
		l.ok(err)
		role := pvesim.DefaultTokens()[1]
		all := append(slices.Clone(role.ACL[0].Privileges), c.needs...)
		l.sim.SetPrivileges(role.ID, []pvesim.ACL{{Path: "/", Privileges: all}, {Path: "/vms/300", Privileges: []string{"VM.Console"}}})
		l.files["web.yaml"], l.files["object.yaml"] = vmYAML("web-1", 201), c.manifest()
		l.files["other.yaml"] = strings.ReplaceAll(c.manifest(), "9000-0", "300-0")
		l.push("two jobs", alice)
		defer l.start()()
		eventually(t, "the job that can be read", func() bool { return l.object(c.label).Sync == report.Synced })
		l.wantLive(c, c.want, true)
		c.edit(l.sim, l.markerOf(c))
		eventually(t, "its repair", func() bool { got, _ := c.live(l.sim); return got == c.want })
		other := objectCase{label: "Replication/300-0"}
		if got := l.object(other.label); !l.objectHasReason(other, reason.NotObserved) || !strings.Contains(got.Conditions[0].Message, "300-0 could not be read") {
			t.Errorf("got %+v, want the job of the guest without the privilege not observed", got)
		}
		l.grant(c.needs...)
		l.converge()
	})
}

// TestSecondReplicationToANodeWaits describes a job of a guest to a node to which a job of a person copies it: Proxmox would refuse it, so no call is made.
func TestSecondReplicationToANodeWaits(t *testing.T) {
	runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
		c := objectCases["replication"]
		l.grant(c.needs...)
		l.sim.SetReplication("9000-5", map[string]string{"target": "pve2"})
		l.files["web.yaml"], l.files["object.yaml"] = vmYAML("web-1", 201), c.manifest()
		l.push("a job", alice)
		defer l.start()()
		eventually(t, "the condition", func() bool {
			return slices.ContainsFunc(l.object(c.label).Conditions, func(cond plan.Condition) bool {
				return cond.Reason == reason.Awaits && strings.Contains(cond.Message, "job 9000-5 copies guest 9000 to pve2")
			})
		})
		time.Sleep(5 * time.Minute)
		if got := l.sim.Counters().Routes[c.route]; got != 0 {
			t.Errorf("got %d calls that make the job, want none", got)
		}
		l.sim.RemoveReplication("9000-5")
		l.converge()
		l.wantLive(c, c.want, true)
	})
}

// TestMarkerComesBack drops the comment of an object in Proxmox, as an edit of an alias on the command line does. The object has all other values that the agent last saw, so it gets
// comment and marker back. With another value it waits for an approval, which names the overwriting.
func TestMarkerComesBack(t *testing.T) {
	t.Parallel()
	drop := map[string]func(sim *pvesim.Sim, marker string){
		"alias": func(sim *pvesim.Sim, marker string) { sim.SetAlias("office", "10.1.0.0/24", marker) },
		"pool":  func(sim *pvesim.Sim, marker string) { sim.SetPoolComment("web", marker) },
		"backup_job": func(sim *pvesim.Sim, _ string) {
			live := sim.BackupJob("nightly")
			delete(live, "comment")
			sim.SetBackupJob("nightly", live)
		},
	}
	for name, drop := range drop {
		t.Run(name, func(t *testing.T) {
			c := objectCases[name]
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.grant(c.needs...)
				l.files["web.yaml"], l.files["object.yaml"] = vmYAML("web-1", 201), c.manifest()
				l.push("an object", alice)
				stop := l.start()
				l.converge()
				marker := l.objectMarker(c)
				drop(l.sim, "")
				eventually(t, "the marker", func() bool { return l.objectMarker(c) == marker })
				l.wantLive(c, c.want, true)
				l.converge()
				stop()
				drop(l.sim, "")
				stop = l.start() // the record outlives a restart
				eventually(t, "the marker again", func() bool { return l.objectMarker(c) == marker })
				l.converge()
				defer func() { stop() }()
				if name == "pool" {
					return // it has nothing but its comment
				}
				c.edit(l.sim, "")
				held := func() bool {
					g := l.object(c.label)
					return len(g.Held) > 0 && g.Held[0].Reason == reason.Approval && l.objectHasReason(c, reason.NotManaged)
				}
				eventually(t, "the hold", held)
				time.Sleep(2 * time.Hour) // what may be another object is not learned
				if l.objectMarker(c) != "" || !held() {
					t.Fatalf("got the marker %q, want the object left alone", l.objectMarker(c))
				}
				stop()
				stop = l.start()
				eventually(t, "the hold after a restart", held)
				l.approve(l.object(c.label).Held[0].Digest)
				eventually(t, "the overwriting", func() bool { return l.objectMarker(c) == marker })
				l.wantLive(c, c.want, true)
				l.converge()
			})
		})
	}
}

// objectMarker returns the marker of a live object.
func (l *lab) objectMarker(c objectCase) string {
	comment := l.sim.Alias("office")["comment"]
	switch c.label {
	case "Pool/web":
		comment, _ = l.sim.PoolComment("web")
	case "BackupJob/nightly":
		comment = l.sim.BackupJob("nightly")["comment"]
	}
	words := strings.Fields(comment)
	if len(words) == 0 || !strings.HasPrefix(words[len(words)-1], "gitops-") {
		return ""
	}
	return words[len(words)-1]
}
