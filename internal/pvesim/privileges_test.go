package pvesim

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEveryCallChecksItsPrivileges calls with a token that has all privileges except one, and checks that the call is rejected for that one.
func TestEveryCallChecksItsPrivileges(t *testing.T) {
	const (
		ct   = "/nodes/pve1/lxc/200"
		node = "/nodes/pve1"
	)
	tests := []struct {
		call    string // method, path and parameters
		path    string // of the privilege
		without string
	}{
		{"GET " + vm100 + "/config", "/vms/100", "VM.Audit"},
		{"GET " + vm100 + "/pending", "/vms/100", "VM.Audit"},
		{"GET " + vm100 + "/status/current", "/vms/100", "VM.Audit"},
		{"GET " + vm100 + "/cloudinit", "/vms/100", "VM.Audit"},
		{"GET " + vm100 + "/cloudinit/dump type=meta", "/vms/100", "VM.Audit"},
		{"GET " + vm100 + "/snapshot", "/vms/100", "VM.Audit"},
		{"GET " + ct + "/config", "/vms/200", "VM.Audit"},
		{"GET " + ct + "/interfaces", "/vms/200", "VM.Audit"},
		{"GET /cluster/backup", "/", "Sys.Audit"},
		{"POST /cluster/backup schedule=daily all=1", "/", "Sys.Modify"},
		{"POST /cluster/backup schedule=daily all=1", "/storage/local", "Datastore.Allocate"},
		{"POST /cluster/backup schedule=daily all=1 fleecing=enabled=1,storage=local2", "/storage/local2", "Datastore.AllocateSpace"},
		{"PUT " + vm100 + "/cloudinit", "/vms/100", "VM.Config.Cloudinit"},
		{"PUT " + vm100 + "/config cores=2", "/vms/100", "VM.Config.CPU"},
		{"PUT " + vm100 + "/config numa0=cpus=0", "/vms/100", "VM.Config.CPU"},
		{"PUT " + vm100 + "/config memory=1024", "/vms/100", "VM.Config.Memory"},
		{"PUT " + vm100 + "/config balloon=0", "/vms/100", "VM.Config.Memory"},
		{"PUT " + vm100 + "/config vga=std", "/vms/100", "VM.Config.HWType"},
		{"PUT " + vm100 + "/config machine=q35", "/vms/100", "VM.Config.HWType"},
		{"PUT " + vm100 + "/config serial0=socket", "/vms/100", "VM.Config.HWType"},
		{"PUT " + vm100 + "/config hostpci0=mapping=gpu", "/mapping/pci/gpu", "Mapping.Use"},
		{"PUT " + vm100 + "/config hostpci0=mapping=gpu", "/vms/100", "VM.Config.HWType"},
		{"PUT " + vm100 + "/config usb0=mapping=key", "/mapping/usb/key", "Mapping.Use"},
		{"PUT " + vm100 + "/config virtiofs0=share", "/mapping/dir/share", "Mapping.Use"},
		{"PUT " + vm100 + "/config virtiofs0=share", "/vms/100", "VM.Config.Disk"},
		{"PUT " + vm100 + "/config usb0=spice,usb3=1", "/vms/100", "VM.Config.HWType"},
		{"PUT " + vm100 + "/config name=x", "/vms/100", "VM.Config.Options"},
		{"PUT " + vm100 + "/config description=x", "/vms/100", "VM.Config.Options"},
		{"PUT " + vm100 + "/config tags=x", "/vms/100", "VM.Config.Options"},
		{"PUT " + vm100 + "/config protection=1", "/vms/100", "VM.Config.Options"},
		{"PUT " + vm100 + "/config startup=order=1", "/", "Sys.Modify"},
		{"PUT " + vm100 + "/config startup=order=1", "/vms/100", "VM.Config.Options"},
		{"PUT " + vm100 + "/config freeze=1", "/vms/100", "VM.PowerMgmt"},
		{"PUT " + vm100 + "/config boot=order=scsi0", "/vms/100", "VM.Config.Disk"},
		{"PUT " + vm100 + "/config scsi1=local-lvm:1", "/vms/100", "VM.Config.Disk"},
		{"PUT " + vm100 + "/config scsi1=local-lvm:1", "/storage/local-lvm", "Datastore.AllocateSpace"},
		{"PUT " + vm100 + "/config delete=scsi0", "/vms/100", "VM.Config.Disk"},
		{"PUT " + vm100 + "/config revert=cores", "/vms/100", "VM.Config.CPU"},
		{"PUT " + vm100 + "/config ide0=none,media=cdrom", "/vms/100", "VM.Config.CDROM"},
		{"PUT " + vm100 + "/config ide0=local-lvm:cloudinit", "/vms/100", "VM.Config.Cloudinit"},
		{"PUT " + vm100 + "/config net1=virtio,bridge=vmbr0", "/vms/100", "VM.Config.Network"},
		{"PUT " + vm100 + "/config net1=virtio,bridge=vmbr0", "/sdn/zones/localnetwork/vmbr0", "SDN.Use"},
		{"PUT " + vm100 + "/config net1=virtio,bridge=vmbr0,tag=5", "/sdn/zones/localnetwork/vmbr0/5", "SDN.Use"},
		{"POST " + vm100 + "/config memory=1024", "/vms/100", "VM.Config.Memory"},
		{"PUT " + vm100 + "/unlink idlist=scsi0", "/vms/100", "VM.Config.Disk"},
		{"PUT " + ct + "/config cores=2", "/vms/200", "VM.Config.CPU"},
		{"PUT " + ct + "/config memory=512", "/vms/200", "VM.Config.Memory"},
		{"PUT " + ct + "/config hostname=x", "/vms/200", "VM.Config.Network"},
		{"PUT " + ct + "/config net1=name=eth1,bridge=vmbr0", "/sdn/zones/localnetwork/vmbr0", "SDN.Use"},
		{"PUT " + ct + "/config mp1=local-lvm:1,mp=/b", "/vms/200", "VM.Config.Disk"},
		{"PUT " + ct + "/config mp1=local-lvm:1,mp=/b", "/storage/local-lvm", "Datastore.AllocateSpace"},
		{"PUT " + ct + "/config features=nesting=1", "/vms/200", "VM.Allocate"},
		{"PUT " + ct + "/config description=x", "/vms/200", "VM.Config.Options"},
		{"PUT " + ct + "/config startup=order=1", "/", "Sys.Modify"},
		{"POST " + vm100 + "/status/start", "/vms/100", "VM.PowerMgmt"},
		{"POST " + vm100 + "/status/stop", "/vms/100", "VM.PowerMgmt"},
		{"POST " + vm100 + "/status/suspend", "/vms/100", "VM.PowerMgmt"},
		{"POST " + ct + "/status/reboot", "/vms/200", "VM.PowerMgmt"},
		{"POST " + ct + "/status/suspend", "/vms/200", "VM.PowerMgmt"},
		{"DELETE " + vm100, "/vms/100", "VM.Allocate"},
		{"DELETE " + ct, "/vms/200", "VM.Allocate"},
		{"POST " + vm100 + "/template", "/vms/100", "VM.Allocate"},
		{"POST " + vm100 + "/clone newid=300 full=1", "/vms/100", "VM.Clone"},
		{"POST " + vm100 + "/clone newid=300 full=1", "/storage/local-lvm", "Datastore.AllocateSpace"},
		{"POST " + vm100 + "/clone newid=300 full=1 storage=local", "/storage/local", "Datastore.AllocateSpace"},
		{"POST " + vm100 + "/clone newid=300 full=1", "/sdn/zones/localnetwork/vmbr0", "SDN.Use"},
		{"POST " + ct + "/clone newid=300 full=1", "/sdn/zones/localnetwork/vmbr0", "SDN.Use"},
		{"POST " + node + "/qemu vmid=300 cores=2", "/vms/300", "VM.Config.CPU"},
		{"POST " + node + "/qemu vmid=300 scsi0=local-lvm:1", "/storage/local-lvm", "Datastore.AllocateSpace"},
		{"POST " + node + "/qemu vmid=300 scsi0=local-lvm:0,import-from=local-lvm:vm-100-disk-0", "/vms/100", "VM.Clone"},
		{"POST " + node + "/qemu vmid=300 net0=virtio,bridge=vmbr0", "/sdn/zones/localnetwork/vmbr0", "SDN.Use"},
		{"POST " + node + "/qemu vmid=300 start=1", "/vms/300", "VM.PowerMgmt"},
		{"POST " + node + "/qemu vmid=300 ha-managed=1", "/", "Sys.Console"},
		{"POST " + node + "/lxc vmid=300 ostemplate=local:vztmpl/x.tar.zst unprivileged=0", "/", "Sys.Modify"},
		{"POST " + node + "/lxc vmid=300 ostemplate=local:vztmpl/x.tar.zst memory=64", "/vms/300", "VM.Config.Memory"},
		{"POST " + node + "/lxc vmid=300 ostemplate=local:vztmpl/x.tar.zst net0=name=eth0,bridge=vmbr0", "/sdn/zones/localnetwork/vmbr0", "SDN.Use"},
		{"POST " + node + "/lxc vmid=300 ostemplate=local:vztmpl/x.tar.zst start=1", "/vms/300", "VM.PowerMgmt"},
		{"PUT " + vm100 + "/resize disk=scsi0 size=+1G", "/vms/100", "VM.Config.Disk"},
		{"PUT " + vm100 + "/resize disk=scsi0 size=+1G", "/storage/local-lvm", "Datastore.AllocateSpace"},
		{"PUT " + ct + "/resize disk=rootfs size=+1G", "/storage/local", "Datastore.AllocateSpace"},
		{"POST " + vm100 + "/move_disk disk=scsi0 storage=local", "/vms/100", "VM.Config.Disk"},
		{"POST " + vm100 + "/move_disk disk=scsi0 storage=local", "/storage/local", "Datastore.AllocateSpace"},
		{"POST " + ct + "/move_volume volume=rootfs storage=local-lvm", "/storage/local-lvm", "Datastore.AllocateSpace"},
		{"POST " + vm100 + "/migrate target=pve2", "/vms/100", "VM.Migrate"},
		{"GET " + ct + "/migrate", "/vms/200", "VM.Migrate"},
		{"POST " + vm100 + "/snapshot snapname=s1", "/vms/100", "VM.Snapshot"},
		{"DELETE " + vm100 + "/snapshot/s1", "/vms/100", "VM.Snapshot"},
		{"POST " + node + "/vzdump vmid=100", "/vms/100", "VM.Backup"},
		{"POST " + node + "/vzdump vmid=100", "/storage/local", "Datastore.AllocateSpace"},
		{"GET " + node + "/status", "/nodes/pve1", "Sys.Audit"},
		{"DELETE " + node + "/storage/local/content/local:iso/x.iso", "/storage/local", "Datastore.Allocate"},
		{"POST " + node + "/storage/local/content vmid=100 filename=vm-100-disk-9.raw size=1M", "/storage/local", "Datastore.AllocateSpace"},
		{"POST /pools poolid=p", "/pool/p", "Pool.Allocate"},
		{"PUT /pools poolid=p comment=x", "/pool/p", "Pool.Allocate"},
		{"GET /pools/p", "/pool/p", "Pool.Audit"},
		{"GET /cluster/ha/resources", "/", "Sys.Audit"},
		{"POST /cluster/ha/resources sid=vm:100", "/", "Sys.Console"},
		{"GET /cluster/ha/rules", "/", "Sys.Audit"},
	}
	for _, tt := range tests {
		name := strings.NewReplacer("/nodes/pve1/", "", "/", ".", " ", ".").Replace(tt.call) + "-" + tt.without
		t.Run(name, func(t *testing.T) {
			opts := Options{Nodes: []string{"pve1", "pve2"}, Tokens: append(DefaultTokens(), Token{ID: "u@pve!x", Secret: "s"})}
			bubble(t, opts, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "scsi0: local-lvm:1\nnet0: virtio,bridge=vmbr0\n")
				if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "rootfs: local:1\nnet0: name=eth0,bridge=vmbr0\nunprivileged: 1\n"}); err != nil {
					t.Fatal(err)
				}
				if err := c.sim.AddVolume("local:iso/x.iso", gib); err != nil {
					t.Fatal(err)
				}
				c.sim.AddPool("old", "")
				others := slices.DeleteFunc(slices.Clone(allPrivileges), func(p string) bool { return p == tt.without })
				acl := []ACL{{Path: tt.path, Privileges: others}}
				if tt.path != "/" {
					acl = append(acl, ACL{Path: "/", Privileges: allPrivileges})
				}
				c.sim.SetPrivileges("u@pve!x", acl)
				f := strings.Fields(tt.call)
				u := c.as("u@pve!x")
				got := u.call(f[0], f[1], f[2:]...)
				reason := got.reason
				if got.status == 200 { // some privileges are checked in the task
					reason = u.wait(strings.Trim(string(got.data(t)), `"`))
				} else if got.status != 403 && got.status != 500 {
					t.Errorf("status: got %d, want 403 or 500", got.status)
				}
				if !strings.HasPrefix(strings.TrimPrefix(reason, "403 "), "Permission check failed (") || !strings.Contains(reason, tt.path+", ") || !strings.Contains(reason, tt.without) {
					t.Errorf("got %d %s, want it rejected for %s on %s", got.status, reason, tt.without, tt.path)
				}
				if n := len(c.sim.Counters().Effects); n != 0 {
					t.Errorf("effects: got %d guests changed, want none", n)
				}
			})
		})
	}
}

func TestRootOnlyKeys(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "unprivileged: 1\n"}); err != nil {
			t.Fatal(err)
		}
		for _, set := range []string{
			"args=-x", "affinity=0", "vmgenid=1", "arch=x86_64", "ivshmem=size=1", "spice_enhancements=foldersharing=1", "hugepages=2",
			"keephugepages=1", "amd-sev=type=std", "parallel0=/dev/parport0", "lock=backup",
		} {
			key, _, _ := strings.Cut(set, "=")
			checkReply(t, key, c.call("PUT", vm100+"/config", set), 500, "only root can set '"+key+"' config")
		}
		checkReply(t, "lock removed", c.call("PUT", vm100+"/config", "delete=lock"), 500, "only root can set 'lock' config")
		checkReply(t, "device", c.call("PUT", vm100+"/config", "hostpci0=0000:01:00.0"), 500, "only root can set 'hostpci0' config for non-mapped devices")
		if got := c.call("PUT", vm100+"/config", "skiplock=1", "cores=2"); got.status != 400 || !strings.Contains(got.body, "Only root may use this option.") {
			t.Errorf("skiplock: got %d %s, want it rejected", got.status, got.body)
		}
		for set, want := range map[string]string{
			"features=keyctl=1":              "changing feature flags (except nesting) is only allowed for root@pam",
			"dev0=/dev/null":                 "configuring device passthrough is only allowed for root@pam",
			"hookscript=local:snippets/x.sh": "changing the hookscript is only allowed for root@pam",
			"mp0=/srv,mp=/srv":               "mount point type bind is only allowed for root@pam",
			"mp0=volume=/srv,mp=/srv":        "mount point type bind is only allowed for root@pam",
			"mp0=/dev/sdb1,mp=/srv":          "mount point type device is only allowed for root@pam",
			"features=nesting=1,keyctl=0":    "changing feature flags (except nesting) is only allowed for root@pam",
		} {
			checkReply(t, set, c.call("PUT", "/nodes/pve1/lxc/200/config", set), 403, "Permission check failed ("+want+")")
		}
		for key, text := range map[string]string{"usb0": "1-1", "hostpci0": "0000:01:00.0", "serial0": "/dev/ttyS0"} {
			if err := c.sim.Edit(100, key, text); err != nil {
				t.Fatal(err)
			}
			if got := c.call("PUT", vm100+"/config", "delete="+key); got.status != 500 || !strings.Contains(got.body, "only root can") {
				t.Errorf("remove %s: got %d %s, want it rejected", key, got.status, got.body)
			}
		}
		if got := c.call("PUT", vm100+"/config", "hostpci1=mapping=gpu,romfile=x.rom"); got.status != 400 || !strings.Contains(got.body, "only root@pam can set 'romfile' option") {
			t.Errorf("romfile: got %d %s, want it rejected", got.status, got.body)
		}
		if _, err := c.sim.AddCT(Guest{VMID: 201, Config: "features: nesting=1,keyctl=1\nunprivileged: 1\n"}); err != nil {
			t.Fatal(err)
		}
		checkReply(t, "features removed", c.call("PUT", "/nodes/pve1/lxc/201/config", "delete=features"), 403,
			"Permission check failed (changing feature flags (except nesting) is only allowed for root@pam)")
		if _, err := c.sim.AddCT(Guest{VMID: 202, Config: "hostname: privileged\n"}); err != nil {
			t.Fatal(err)
		}
		checkReply(t, "features of a privileged container", c.call("PUT", "/nodes/pve1/lxc/202/config", "features=nesting=1"), 403,
			"Permission check failed (changing feature flags for privileged container is only allowed for root@pam)")
	})
}

func TestTokenLimitedByUser(t *testing.T) {
	audit := []ACL{{Path: "/", Privileges: []string{"VM.Audit"}}}
	both := []ACL{{Path: "/", Privileges: []string{"VM.Audit", "VM.PowerMgmt"}}}
	opts := Options{
		Users: []User{{ID: "a@pve", ACL: both}, {ID: "b@pve", ACL: both, Disabled: true}},
		Tokens: append(DefaultTokens(),
			Token{ID: "a@pve!separate", Secret: "s", ACL: audit}, Token{ID: "a@pve!shared", Secret: "s", SharesUser: true},
			Token{ID: "a@pve!more", Secret: "s", ACL: []ACL{{Path: "/", Role: "Administrator"}}}, Token{ID: "b@pve!x", Secret: "s", ACL: both},
			Token{ID: "a@pve!short", Secret: "s", ACL: both, Expires: time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)}, // an hour after the start of a bubble
		),
	}
	bubble(t, opts, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		start := func(token string) answer { return c.as(token).call("POST", vm100+"/status/start") }
		checkReply(t, "token with less", start("a@pve!separate"), 403, "Permission check failed (/vms/100, VM.PowerMgmt)")
		checkReply(t, "token with more", c.as("a@pve!more").call("PUT", vm100+"/config", "cores=2"), 403,
			"Permission check failed (/vms/100, "+strings.Join(configPrivileges, "|")+")")
		c.as("a@pve!shared").ok("POST", vm100+"/status/start")
		checkReply(t, "user disabled", c.as("b@pve!x").call("GET", vm100+"/config"), 401, "Authentication failed!")
		c.as("a@pve!short").ok("GET", vm100+"/config")
		time.Sleep(time.Hour)
		checkReply(t, "token expired", c.as("a@pve!short").call("GET", vm100+"/config"), 401, "Authentication failed!")
		c.sim.SetPrivileges("a@pve", audit)
		checkReply(t, "user's right revoked", start("a@pve!more"), 403, "Permission check failed (/vms/100, VM.PowerMgmt)")
		if body := c.as("a@pve!more").ok("GET", "/access/permissions", "path=/vms").body; body != `{"data":{"/vms":{"VM.Audit":1}}}` {
			t.Errorf("permissions: got %s, want the privileges that both have", body)
		}
	})
}

func TestPoolPrivilegesApplyToGuests(t *testing.T) {
	opts := Options{Tokens: append(DefaultTokens(), Token{ID: "u@pve!x", Secret: "s", ACL: []ACL{
		{Path: "/pool/mine", Privileges: slices.Concat([]string{"VM.Allocate", "VM.Audit", "Pool.Audit"}, configPrivileges)},
		{Path: "/storage", Role: "PVEDatastoreUser"},
		{Path: "/vms/101", Role: "NoAccess"},
	}})}
	bubble(t, opts, func(t *testing.T, c *client) {
		c.sim.AddPool("mine", "", 100, 101)
		addVM(t, c.sim, 100, "")
		addVM(t, c.sim, 102, "")
		u := c.as("u@pve!x")
		u.ok("GET", vm100+"/config")
		checkReply(t, "guest outside", u.call("GET", "/nodes/pve1/qemu/102/config"), 403, "Permission check failed (/vms/102, VM.Audit)")
		checkReply(t, "create outside", u.call("POST", "/nodes/pve1/qemu", "vmid=103", "cores=2"), 403, "Permission check failed")
		if got := u.task("POST", "/nodes/pve1/qemu", "vmid=103", "cores=2", "scsi0=local:1", "pool=mine"); got != "OK" {
			t.Errorf("create in the pool: got %s, want OK", got)
		}
		checkReply(t, "unknown pool", u.call("POST", "/nodes/pve1/qemu", "vmid=104", "pool=none"), 403, "Permission check failed (pool 'none' does not exist)")
	})
}
