package proxmox

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"gitops-agent/internal/proxmox/encode"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
)

// oneOfEach returns a valid call of every operation.
func oneOfEach() map[cluster.Op]cluster.Call {
	calls := map[cluster.Op]cluster.Call{
		cluster.OpConfig: {Params: map[string]string{"cores": "2"}},
		cluster.OpResize: {Params: map[string]string{"disk": "scsi0", "size": "2G"}},
		cluster.OpMove:   {Params: map[string]string{"disk": "scsi0", "storage": "ceph"}},
		cluster.OpPool:   {Params: map[string]string{"poolid": "web"}},
		cluster.OpFirewall: {
			Firewall: cluster.FirewallCall{Verb: cluster.FirewallSet, Object: cluster.FirewallOptions}, Params: map[string]string{"enable": "1"},
		},
		cluster.OpHAAdd:   {Params: map[string]string{"state": "started"}},
		cluster.OpHASet:   {Params: map[string]string{"max_restart": "2"}},
		cluster.OpMigrate: {Params: map[string]string{"target": "pve2"}},
		cluster.OpBackup:  {Params: map[string]string{"storage": "local"}},

		cluster.OpSnapshot:       {Params: map[string]string{"snapname": "s1"}},
		cluster.OpDeleteSnapshot: {Params: map[string]string{"snapname": "s1"}},
		cluster.OpRollback:       {Params: map[string]string{"snapname": "s1"}},
	}
	for _, op := range cluster.Ops() {
		if op == cluster.OpDownload {
			calls[op] = download("")
			continue
		}
		if op == cluster.OpDeleteFile {
			calls[op] = deletion("")
			continue
		}
		if op.IsObject() {
			calls[op] = cluster.Call{Op: op, Kind: "Pool", Object: "prod/web"}
			continue
		}
		call := calls[op]
		call.Op, call.Kind, call.Node, call.VMID = op, guest.VirtualMachine, "pve1", 101
		calls[op] = call
	}
	return calls
}

func TestDoSendsMoreCalls(t *testing.T) {
	const vm, ct = guest.VirtualMachine, guest.Container
	const json, digest = "application/json", "533c280962b1180498b74b48ed6d2d8d9b0eeb52"
	tests := map[string]struct {
		call cluster.Call
		want seen
	}{
		"move_vm": {
			cluster.Call{Op: cluster.OpMove, Kind: vm, Digest: digest, Params: map[string]string{"disk": "scsi1", "storage": "ceph", "delete": "0"}},
			seen{"POST", "/nodes/pve1/qemu/101/move_disk", `{"delete":"0","digest":"` + digest + `","disk":"scsi1","storage":"ceph"}`, json},
		},
		"move_ct": {
			cluster.Call{Op: cluster.OpMove, Kind: ct, Digest: digest, Params: map[string]string{"disk": "rootfs", "storage": "ceph", "delete": "0"}},
			seen{"POST", "/nodes/pve1/lxc/101/move_volume", `{"delete":"0","digest":"` + digest + `","storage":"ceph","volume":"rootfs"}`, json},
		},
		"cloudinit": {
			cluster.Call{Op: cluster.OpCloudInit, Kind: vm, Digest: digest}, // which the call does not take
			seen{"PUT", "/nodes/pve1/qemu/101/cloudinit", "", ""},
		},
		"pool": {
			cluster.Call{Op: cluster.OpPool, Kind: vm, Params: map[string]string{"poolid": "prod/web"}},
			seen{"PUT", "/pools", `{"allow-move":"1","poolid":"prod/web","vms":"101"}`, json},
		},
		"ha_add_vm": {
			cluster.Call{Op: cluster.OpHAAdd, Kind: vm, Params: map[string]string{"state": "started", "max_restart": "2"}},
			seen{"POST", "/cluster/ha/resources", `{"max_restart":"2","sid":"vm:101","state":"started"}`, json},
		},
		"ha_add_ct": {
			cluster.Call{Op: cluster.OpHAAdd, Kind: ct},
			seen{"POST", "/cluster/ha/resources", `{"sid":"ct:101"}`, json},
		},
		"ha_set": {
			cluster.Call{Op: cluster.OpHASet, Kind: vm, Params: map[string]string{"max_relocate": "3"}},
			seen{"PUT", "/cluster/ha/resources/vm:101", `{"max_relocate":"3"}`, json},
		},
		"ha_remove": {
			cluster.Call{Op: cluster.OpHARemove, Kind: ct},
			seen{"DELETE", "/cluster/ha/resources/ct:101", "", ""},
		},
		"migrate_vm": {
			cluster.Call{Op: cluster.OpMigrate, Kind: vm, Params: map[string]string{"target": "pve2", "online": "1", "with-local-disks": "1"}},
			seen{"POST", "/nodes/pve1/qemu/101/migrate", `{"online":"1","target":"pve2","with-local-disks":"1"}`, json},
		},
		"migrate_ct": {
			cluster.Call{Op: cluster.OpMigrate, Kind: ct, Params: map[string]string{"target": "pve2", "restart": "1", "timeout": "180"}},
			seen{"POST", "/nodes/pve1/lxc/101/migrate", `{"restart":"1","target":"pve2","timeout":"180"}`, json},
		},
		"template_vm": {
			cluster.Call{Op: cluster.OpTemplate, Kind: vm},
			seen{"POST", "/nodes/pve1/qemu/101/template", "", ""},
		},
		"template_ct": {
			cluster.Call{Op: cluster.OpTemplate, Kind: ct},
			seen{"POST", "/nodes/pve1/lxc/101/template", "", ""},
		},
		"snapshot": {
			cluster.Call{Op: cluster.OpSnapshot, Kind: vm, Params: map[string]string{"snapname": "s1", "description": "a", "vmstate": "1"}},
			seen{"POST", "/nodes/pve1/qemu/101/snapshot", `{"description":"a","snapname":"s1","vmstate":"1"}`, json},
		},
		"delete_snapshot": {
			cluster.Call{Op: cluster.OpDeleteSnapshot, Kind: ct, Params: map[string]string{"snapname": "s1"}},
			seen{"DELETE", "/nodes/pve1/lxc/101/snapshot/s1", "", ""},
		},
		"rollback": {
			cluster.Call{Op: cluster.OpRollback, Kind: vm, Params: map[string]string{"snapname": "s1"}},
			seen{"POST", "/nodes/pve1/qemu/101/snapshot/s1/rollback", "", ""},
		},
		"backup": {
			cluster.Call{Op: cluster.OpBackup, Kind: ct, Params: map[string]string{"storage": "local", "mode": "stop", "remove": "0"}},
			seen{"POST", "/nodes/pve1/vzdump", `{"mode":"stop","remove":"0","storage":"local","vmid":"101"}`, json},
		},
		"reboot": {
			cluster.Call{Op: cluster.OpReboot, Kind: vm, Params: map[string]string{"timeout": "180"}},
			seen{"POST", "/nodes/pve1/qemu/101/status/reboot", `{"timeout":"180"}`, json},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := always(200, "OK", `{"data":"`+testUPID+`"}`)
			test.call.Node, test.call.VMID = "pve1", 101
			before := len(test.call.Params)
			if got, err := inProcess(t, server).Do(t.Context(), test.call, nil); err != nil || got != testUPID {
				t.Errorf("got %q, error %v, want %s", got, err, testUPID)
			}
			if diff := cmp.Diff([]seen{test.want}, server.got); diff != "" {
				t.Errorf("requests (-want +got)\n%s", diff)
			}
			if len(test.call.Params) != before {
				t.Errorf("got %d parameters in the caller's map, want %d as before", len(test.call.Params), before)
			}
		})
	}
}

// A call that Proxmox may answer without a task succeeds without a UPID. For any other call, null is not a valid answer.
func TestDoWithoutTask(t *testing.T) {
	synchronous := map[cluster.Op]bool{
		cluster.OpConfig: true, cluster.OpResize: true, cluster.OpCloudInit: true, cluster.OpPool: true, cluster.OpHAAdd: true,
		cluster.OpHASet: true, cluster.OpHARemove: true, cluster.OpTemplate: true, cluster.OpFirewall: true,
		cluster.OpObjectAdd: true, cluster.OpObjectSet: true, cluster.OpObjectRemove: true,
	}
	for op, call := range oneOfEach() {
		upid, err := inProcess(t, always(200, "OK", `{"data":null}`)).Do(t.Context(), call, nil)
		if upid != "" || synchronous[op] && err != nil || !synchronous[op] && !errors.Is(err, cluster.ErrOutcomeUnknown) {
			t.Errorf("%s: got %q, error %v, want a success without a UPID: %v", op, upid, err, synchronous[op])
		}
	}
}

// After an invalid reply the outcome of every call is unknown, and the call is sent once.
func TestInvalidReplyMeansUnknownOutcome(t *testing.T) {
	replies := map[string]string{
		"dropped":         "",
		"truncated":       "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\":",
		"no_json":         raw(200, "OK", `{"data":<html>`),
		"not_a_task":      raw(200, "OK", `{"data":"started"}`),
		"proxy_timed_out": raw(596, "Connection timed out", ""),
		"proxy_gave_up":   raw(599, "Too many redirections", ""),
		"lost_worker":     raw(500, "got no worker upid - start worker failed", `{"message":"got no worker upid - start worker failed\n","data":null}`),
	}
	for name, text := range replies {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			server := rawServer(t, func(*http.Request) string {
				requests.Add(1)
				return text
			})
			client := newClient(t, Options{Endpoints: []string{server.URL, server.URL}})
			for op, call := range oneOfEach() {
				requests.Store(0)
				if upid, err := client.Do(t.Context(), call, nil); upid != "" || !errors.Is(err, cluster.ErrOutcomeUnknown) || requests.Load() != 1 {
					t.Errorf("%s: got %q, error %v after %d requests, want ErrOutcomeUnknown after one", op, upid, err, requests.Load())
				}
			}
		})
	}
}

// The metric label of an operation contains no id.
func TestRoutesHoldNoIDs(t *testing.T) {
	for op, call := range oneOfEach() {
		x, _, err := encode.Call(call)
		if err != nil {
			t.Errorf("%s: got error %v, want none", op, err)
			continue
		}
		if x.Route == "" || x.Route == route.Other || strings.ContainsAny(x.Route, "0123456789") {
			t.Errorf("%s: got route %q, want a path with its variables named", op, x.Route)
		}
	}
}

func TestDoRejectsIncompleteCalls(t *testing.T) {
	const vm, ct = guest.VirtualMachine, guest.Container
	tests := map[string]struct {
		call cluster.Call
		want string
	}{
		"move_nothing":     {cluster.Call{Op: cluster.OpMove, Kind: vm, Params: map[string]string{"storage": "ceph"}}, "a move needs disk and storage"},
		"move_nowhere":     {cluster.Call{Op: cluster.OpMove, Kind: ct, Params: map[string]string{"disk": "mp0"}}, "a move needs disk and storage"},
		"cloudinit_ct":     {cluster.Call{Op: cluster.OpCloudInit, Kind: ct}, "no cloud-init drive"},
		"cloudinit_params": {cluster.Call{Op: cluster.OpCloudInit, Kind: vm, Params: map[string]string{"ciuser": "a"}}, "takes no parameters"},
		"no_pool":          {cluster.Call{Op: cluster.OpPool, Kind: vm}, `"" is not a pool name`},
		"bad_pool":         {cluster.Call{Op: cluster.OpPool, Kind: vm, Params: map[string]string{"poolid": "a b"}}, `"a b" is not a pool name`},
		"pool_delete":      {cluster.Call{Op: cluster.OpPool, Kind: vm, Params: map[string]string{"poolid": "a", "delete": "1"}}, "delete is not allowed"},
		"ha_remove_params": {cluster.Call{Op: cluster.OpHARemove, Kind: vm, Params: map[string]string{"purge": "1"}}, "takes no parameters"},
		"template_params":  {cluster.Call{Op: cluster.OpTemplate, Kind: vm, Params: map[string]string{"disk": "scsi0"}}, "takes no parameters"},
		"migrate_nowhere":  {cluster.Call{Op: cluster.OpMigrate, Kind: vm}, "is not a node name"},
		"migrate_to_here":  {cluster.Call{Op: cluster.OpMigrate, Kind: vm, Params: map[string]string{"target": "pve1"}}, "the guest is on this node already"},
		"migrate_force":    {cluster.Call{Op: cluster.OpMigrate, Kind: vm, Params: map[string]string{"target": "pve2", "force": "1"}}, "force is not allowed"},
		"secret_not_there": {cluster.Call{Op: cluster.OpConfig, Kind: vm, Params: map[string]string{"ciuser": "a"}, Secrets: map[string]string{"cipassword": "web"}}, "cipassword: the secret was not filled in"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := always(200, "OK", `{"data":null}`)
			test.call.Node, test.call.VMID = "pve1", 101
			_, err := inProcess(t, server).Do(t.Context(), test.call, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || meanings(err) != nil {
				t.Errorf("got error %v, want one with %q and no other meaning", err, test.want)
			}
			if len(server.got) != 0 {
				t.Errorf("got requests %v, want none", server.got)
			}
		})
	}
}
