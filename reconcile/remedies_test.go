package reconcile_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// saysOf returns the conditions of a guest or object, with those of its held steps.
func (l *lab) saysOf(label string) func() []plan.Condition {
	return l.saysOfAny(func(g report.Guest) bool { return g.Label() == label })
}

// saysOfVMID is saysOf of one of two guests that have one label.
func (l *lab) saysOfVMID(vmid int) func() []plan.Condition {
	return l.saysOfAny(func(g report.Guest) bool { return g.VMID == vmid })
}

func (l *lab) saysOfAny(meant func(report.Guest) bool) func() []plan.Condition {
	return func() (list []plan.Condition) {
		for _, g := range l.engine.Report().Guests {
			if !meant(g) {
				continue
			}
			list = append(list, g.Conditions...)
			for _, h := range g.Held {
				list = append(list, plan.Condition{Type: plan.Held, Reason: h.Reason, Message: h.Message, Hint: h.Hint})
			}
		}
		return list
	}
}

// saysOfBatch returns what is said of rollouts whose turn is a batch, as conditions whose reasons are the states.
func (l *lab) saysOfBatch(number int) func() []plan.Condition {
	return func() (list []plan.Condition) {
		for _, r := range l.engine.Report().Rollouts {
			if r.Batch == number {
				list = append(list, plan.Condition{Reason: reason.Name(r.State), Hint: r.Hint})
			}
		}
		return list
	}
}

var remedyPlaceholder = regexp.MustCompile(`\\\{[a-z ]+\\\}`)

// cure waits until the agent prints a remedy, carries it out as its text says, and waits until neither the remedy nor its reason is printed any more. Values are those of the
// placeholders, in the order of the text. TestEachRemedyHasACase of cmd/gitops-agent finds the calls, with the remedy in the line of the call.
func (l *lab) cure(remedy reason.Remedy, said func() []plan.Condition, carryOut func(values []string)) {
	l.Helper()
	text := regexp.MustCompile("(?s)" + remedyPlaceholder.ReplaceAllString(regexp.QuoteMeta(remedy.Text), "(.+?)") + "$")
	await := func(what string, condition func() bool) {
		l.Helper()
		for range 1200 {
			if condition() {
				return
			}
			time.Sleep(time.Second)
		}
		l.Fatalf("waited twenty minutes for %s of %q: got %+v, refused %+v", what, remedy.Text, said(), l.engine.Report().Source.Refused)
	}
	var why reason.Name
	var values []string
	await("the text", func() bool {
		for _, c := range said() {
			if m := text.FindStringSubmatch(c.Hint); m != nil {
				why, values = c.Reason, m[1:]
				return true
			}
		}
		return false
	})
	carryOut(values)
	await("the end", func() bool {
		return !slices.ContainsFunc(said(), func(c plan.Condition) bool { return c.Reason == why || text.MatchString(c.Hint) })
	})
}

// TestRemediesOfNames carries out what helps a manifest that may mean another guest, an object that may be another one, and one that Proxmox cannot change.
func TestRemediesOfNames(t *testing.T) {
	runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}}, func(t *testing.T, l *lab) {
		const uuid = "11111111-2222-4333-8444-555555555555"
		l.grant("VM.Replicate", "Sys.AccessNetwork", "Datastore.Allocate", "Sys.Modify")
		copies := func(number, target string) string {
			return strings.NewReplacer("201-0", "205-"+number, "pve2", target).Replace(replicationOfWeb)
		}
		servers, err := image.ParseServers([]string{"images.example"})
		l.ok(err)
		l.opts.AllowedServer = servers.Allow
		l.files["web.yaml"], l.files["app.yaml"] = vmYAML("web-1", 201), vmYAML("app-1", 205)
		l.files["copy.yaml"], l.files["office.yaml"] = copies("0", "pve2"), officeAlias
		l.push("guests, a job and an alias", alice)
		defer l.start()()
		l.converge()

		l.files["web.yaml"] = vmYAML("web-1", 204)
		l.push("another vmid", alice)
		l.approve(l.digestOfHold(201))
		eventually(l, "the other guest", func() bool { return l.exists(204) })
		l.files["web.yaml"] = withoutVMID(vmYAML("web-1", 204))
		l.push("no vmid, and two guests", alice)
		l.cure(reason.MeantOwned, l.saysOf("VirtualMachine/web-1"), func(values []string) {
			l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 299), "299", values[0], 1)
			l.push("a vmid", alice)
		})
		l.cure(reason.NameAgain, l.saysOfVMID(204), func(values []string) {
			l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 299), "299", values[0], 1)
			l.push("the other one", alice)
		})
		l.approve(l.digestOfHold(201)) // the guest that the manifest does not mean
		l.converge()

		_, err = l.sim.AddVM(pvesim.Guest{VMID: 230, Config: "name: another\nmemory: 512\nscsi0: local-lvm:vm-230-disk-0,size=4G\nsmbios1: uuid=" + uuid + "\n"})
		l.ok(err)
		time.Sleep(time.Minute)
		db := func(vmid string, lines ...string) string {
			return strings.NewReplacer("web-1", "db-1", "201", vmid).Replace(blankYAML(append(lines, "raw: {smbios1: \"uuid="+uuid+"\"}")...))
		}
		l.files["db.yaml"] = withoutVMID(db("299"))
		l.push("a uuid that is in use", alice)
		l.cure(reason.MeantUUID, l.saysOf("VirtualMachine/db-1"), func(values []string) {
			l.files["db.yaml"] = db(values[0], "adopt: ifUnmanaged")
			l.waitForAcceptance(l.push("that guest", alice))
		})
		l.converge()
		if owned := l.journal.State().Owned[230]; owned.Name != "db-1" {
			t.Errorf("got the record %+v of the guest with the uuid, want it adopted", owned)
		}

		_, err = l.sim.AddVM(pvesim.Guest{VMID: 231, Node: "pve3", Config: "name: unseen\nmemory: 512\n"})
		l.ok(err)
		l.sim.StopNode("pve3")
		time.Sleep(5 * time.Minute)
		l.files["new.yaml"] = withoutVMID(vmYAML("new-1", 299))
		l.push("a guest without a vmid", alice)
		l.cure(reason.MeantUnnamed, l.saysOf("VirtualMachine/new-1"), func([]string) {
			l.files["new.yaml"] = vmYAML("new-1", 203)
			l.push("a vmid", alice)
		})
		l.sim.StartNode("pve3")
		l.converge()

		l.files["copy.yaml"] = copies("0", "pve3")
		l.push("another target", alice)
		l.cure(reason.NewID, l.saysOf("Replication/205-0"), func([]string) {
			l.files["copy.yaml"] = copies("1", "pve3")
			l.waitForAcceptance(l.push("another id", alice))
		})
		l.converge()
		if got := l.sim.Replication("205-1"); got["target"] != "pve3" {
			t.Errorf("got %v, want the new job", got)
		}

		l.callAs(byHand, "PUT", "/cluster/firewall/aliases/office", "cidr=10.9.0.0/16")
		l.cure(reason.RestoreObjectMarker, l.saysOf("Alias/office"), func([]string) {
			l.files["office.yaml"] = strings.Replace(officeAlias, "lifecycle", "adopt: ifUnmanaged, lifecycle", 1)
			l.waitForAcceptance(l.push("adopt it", alice))
		})
		l.converge()
		if got := l.sim.Alias("office"); !strings.Contains(fmt.Sprint(got), "10.1.0.0/24") {
			t.Errorf("got %v, want the alias of the manifest", got)
		}

		for _, node := range []string{"pve1", "pve3"} { // where the guests are
			l.sim.SetMaintenance(node, true)
		}
		l.files["image.yaml"] = strings.Replace(isoYAML(debianSum, "pve1"), "  nodes: [pve1]\n", "", 1)
		l.publishISO(debianSum)
		l.push("an image without nodes", alice)
		l.cure(reason.NameNode, l.saysOf("Image/debian-13"), func([]string) {
			l.files["image.yaml"] = isoYAML(debianSum, "pve2")
			l.push("a node", alice)
		})
	})
}

// TestRemediesOfSteps carries out what helps a step that Proxmox, a limit of the agent or the scope of a signer keeps back.
func TestRemediesOfSteps(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "state: running", "memory: {size: 2Gi}", "lifecycle: {rebootPolicy: auto}"), vmYAML("db-1", 202, "memory: {size: 2Gi}")
		l.push("two guests", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()

		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/202/config$", Kind: pvesim.ErrorText, Text: "only root can set 'vga' config", Times: -1}))
		l.files["db.yaml"] = vmYAML("db-1", 202, "memory: {size: 2Gi}", "display: {type: serial0}")
		l.push("a key of root", alice)
		l.cure(reason.LeaveOutRootKey, l.saysOf("VirtualMachine/db-1"), func([]string) {
			l.files["db.yaml"] = vmYAML("db-1", 202, "memory: {size: 2Gi}")
			l.push("without it", alice)
		})
		l.sim.ClearFaults()
		l.converge()

		stop()
		l.opts.Parallel = 1
		stop = l.start()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.HoldBefore}))
		l.ok(l.sim.Edit(201, "memory", "4096"))
		l.ok(l.sim.Edit(202, "memory", "4096"))
		l.cure(reason.RaiseLimits, l.saysOf("VirtualMachine/db-1"), func([]string) {
			stop()
			l.opts.Parallel = 2
			stop = l.start()
		})
		l.sim.Release()
		l.converge()

		l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(otto, nil, nil, verify.RoleOperate))
		l.ok(l.sim.Edit(201, "lock", "backup"))
		l.order("reboot VirtualMachine/web-1")
		stop()
		l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(otto, []string{"VirtualMachine/db-*"}, nil, verify.RoleOperate))
		stop = l.start()
		l.ok(l.sim.Edit(201, "lock", ""))
		l.cure(reason.ExtendOrderSigner, l.saysOf("VirtualMachine/web-1"), func([]string) {
			l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(otto, []string{"VirtualMachine/db-*", "VirtualMachine/web-*"}, nil, verify.RoleOperate))
		})
		l.waitForOrder("reboot VirtualMachine/web-1", journal.OrderRun)
	})
}

// TestRemedyOfAFolderThatMoved moves the manifests out of the folders that the agent reads.
func TestRemedyOfAFolderThatMoved(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.opts.Scope.Paths = []string{"prod"}
		l.files["prod/cluster.yaml"], l.files["prod/web.yaml"] = l.files["cluster.yaml"], vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
		l.push("one guest", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		l.files["guests/web.yaml"] = l.files["prod/web.yaml"]
		delete(l.files, "prod/web.yaml")
		l.push("another folder", alice)
		l.cure(reason.CheckPaths, l.saysOf("VirtualMachine/web-1"), func([]string) {
			stop()
			l.opts.Scope.Paths = []string{"prod", "guests"}
			stop = l.start()
		})
		l.converge()
		if l.destroyed(201) {
			t.Error("got the guest destroyed, want it left alone")
		}
	})
}
