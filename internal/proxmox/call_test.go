package proxmox

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
)

func TestDoSendsTheCall(t *testing.T) {
	const vm, ct = guest.VirtualMachine, guest.Container
	const digest = "533c280962b1180498b74b48ed6d2d8d9b0eeb52"
	tests := map[string]struct {
		call cluster.Call
		want seen
	}{
		"create_vm": {
			cluster.Call{Op: cluster.OpCreate, Kind: vm, VMID: 101, Params: map[string]string{"name": "web", "scsi0": "local-lvm:32", "vmid": "101"}},
			seen{"POST", "/nodes/pve1/qemu", `{"name":"web","scsi0":"local-lvm:32","vmid":"101"}`, "application/json"},
		},
		"create_ct": {
			cluster.Call{Op: cluster.OpCreate, Kind: ct, VMID: 101, Params: map[string]string{"ostemplate": "local:vztmpl/debian.tar.zst"}},
			seen{"POST", "/nodes/pve1/lxc", `{"ostemplate":"local:vztmpl/debian.tar.zst","vmid":"101"}`, "application/json"},
		},
		"clone": {
			cluster.Call{Op: cluster.OpCreate, Kind: vm, VMID: 101, CloneOf: 9000, Params: map[string]string{"full": "1"}},
			seen{"POST", "/nodes/pve1/qemu/9000/clone", `{"full":"1","newid":"101"}`, "application/json"},
		},
		"config_vm": {
			cluster.Call{Op: cluster.OpConfig, Kind: vm, VMID: 101, Digest: digest, Params: map[string]string{"description": "a\nb"}, Delete: []string{"tags", "net1"}},
			seen{"POST", "/nodes/pve1/qemu/101/config", `{"delete":"tags,net1","description":"a\nb","digest":"` + digest + `"}`, "application/json"},
		},
		"config_ct": {
			cluster.Call{Op: cluster.OpConfig, Kind: ct, VMID: 101, Delete: []string{"tags"}},
			seen{"PUT", "/nodes/pve1/lxc/101/config", `{"delete":"tags"}`, "application/json"},
		},
		"sshkeys_once_encoded": {
			cluster.Call{Op: cluster.OpConfig, Kind: vm, VMID: 101, Params: map[string]string{"sshkeys": "ssh-ed25519%20AAAA%2Fx%20me%40lan%0A"}},
			seen{"POST", "/nodes/pve1/qemu/101/config", `{"sshkeys":"ssh-ed25519%20AAAA%2Fx%20me%40lan%0A"}`, "application/json"},
		},
		"resize": {
			cluster.Call{Op: cluster.OpResize, Kind: vm, VMID: 101, Digest: digest, Params: map[string]string{"disk": "scsi0", "size": "64G"}},
			seen{"PUT", "/nodes/pve1/qemu/101/resize", `{"digest":"` + digest + `","disk":"scsi0","size":"64G"}`, "application/json"},
		},
		"start": {
			cluster.Call{Op: cluster.OpStart, Kind: vm, VMID: 101},
			seen{"POST", "/nodes/pve1/qemu/101/status/start", "", ""},
		},
		"shutdown": {
			cluster.Call{Op: cluster.OpShutdown, Kind: ct, VMID: 101, Params: map[string]string{"timeout": "180"}},
			seen{"POST", "/nodes/pve1/lxc/101/status/shutdown", `{"timeout":"180"}`, "application/json"},
		},
		"stop": {
			cluster.Call{Op: cluster.OpStop, Kind: vm, VMID: 101},
			seen{"POST", "/nodes/pve1/qemu/101/status/stop", "", ""},
		},
		"destroy": { // no parameter is added: it could destroy what another guest left behind
			cluster.Call{Op: cluster.OpDestroy, Kind: vm, VMID: 101},
			seen{"DELETE", "/nodes/pve1/qemu/101", "", ""},
		},
		"destroy_with_purge": {
			cluster.Call{Op: cluster.OpDestroy, Kind: vm, VMID: 101, Params: map[string]string{"purge": "1", "destroy-unreferenced-disks": "0"}},
			seen{"DELETE", "/nodes/pve1/qemu/101?destroy-unreferenced-disks=0&purge=1", "", ""},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := always(200, "OK", `{"data":"`+testUPID+`"}`)
			test.call.Node = "pve1"
			before := len(test.call.Params)
			got, err := inProcess(t, server).Do(t.Context(), test.call, nil)
			if err != nil || got != testUPID {
				t.Errorf("got %q, error %v, want %s", got, err, testUPID)
			}
			if diff := cmp.Diff([]seen{test.want}, server.got); diff != "" {
				t.Errorf("requests (-want +got)\n%s", diff)
			}
			if len(test.call.Params) != before {
				t.Errorf("got %d parameters in the caller's map, want %d: unchanged", len(test.call.Params), before)
			}
		})
	}
}

func TestDoRejects(t *testing.T) {
	tests := map[string]struct {
		call cluster.Call
		want string
	}{
		"empty_config":      {cluster.Call{Op: cluster.OpConfig}, "nothing to set or delete"},
		"delete_elsewhere":  {cluster.Call{Op: cluster.OpStart, Delete: []string{"net0"}}, "go with a config call"},
		"force":             {cluster.Call{Op: cluster.OpConfig, Params: map[string]string{"force": "1"}, Delete: []string{"scsi1"}}, "force is not allowed"},
		"skiplock":          {cluster.Call{Op: cluster.OpStop, Params: map[string]string{"skiplock": "1"}}, "skiplock is not allowed"},
		"digest_twice":      {cluster.Call{Op: cluster.OpConfig, Params: map[string]string{"digest": "x"}}, "digest is not allowed"},
		"delete_twice":      {cluster.Call{Op: cluster.OpConfig, Params: map[string]string{"delete": "net0"}}, "delete is not allowed"},
		"delete_list":       {cluster.Call{Op: cluster.OpConfig, Delete: []string{"net0,scsi0"}}, `"net0,scsi0" is not a parameter name`},
		"other_vmid":        {cluster.Call{Op: cluster.OpCreate, Params: map[string]string{"vmid": "102"}}, `vmid is "102", want 101`},
		"other_newid":       {cluster.Call{Op: cluster.OpCreate, CloneOf: 9000, Params: map[string]string{"newid": "102"}}, `newid is "102", want 101`},
		"bad_template":      {cluster.Call{Op: cluster.OpCreate, CloneOf: 7}, "template: vmid 7"},
		"unknown_operation": {cluster.Call{Op: "dance"}, `operation "dance" has no call`},
		"line_break":        {cluster.Call{Op: cluster.OpConfig, Params: map[string]string{"name": "a\nargs: -x"}}, "name: control character at byte 1"},
		"not_utf8":          {cluster.Call{Op: cluster.OpConfig, Params: map[string]string{"description": "a\xff"}}, "description: value is not UTF-8"},
		"bad_name":          {cluster.Call{Op: cluster.OpConfig, Params: map[string]string{"na me": "x"}}, `"na me" is not a parameter name`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := always(200, "OK", `{"data":null}`)
			test.call.Kind, test.call.Node, test.call.VMID = guest.VirtualMachine, "pve1", 101
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
