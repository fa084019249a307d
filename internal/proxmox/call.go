package proxmox

import (
	"context"
	"fmt"

	"gitops-agent/internal/proxmox/encode"
	"gitops-agent/internal/proxmox/meaning"
	"gitops-agent/reconcile/cluster"
)

// Do sends one call once, with the parameters of the call and no others. It waits for a free slot of the node, runs check, and sends the
// request only if check passes. It returns the UPID of the task that Proxmox started,
// or the empty string if Proxmox answered synchronously: for the config of a container, a quick config of a virtual machine, the
// cloud-init drive, pools and HA. call.Params already contains the values of call.Secrets; errors repeat only what package wire knows to be no secret.
//
// The config of a virtual machine is sent by POST, which starts a task before it changes anything. With PUT, a slow disk or a hotplug could
// take longer than the 30 seconds after which Proxmox's proxy stops waiting for a reply. Containers have no such POST call.
//
// Source: PVE API, POST /nodes/{node}/{kind}, POST …/clone, POST or PUT …/config, PUT …/resize, POST …/move_disk and
// …/move_volume, PUT …/cloudinit, POST …/migrate, …/template and …/status/*, DELETE; POST …/download-url; DELETE …/content/{volume}; PUT /pools, /cluster/ha/resources.
func (c *Client) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	upid, err := c.do(ctx, call, check)
	switch {
	case err != nil && call.Op.IsObject():
		return "", fmt.Errorf("%s %s: %w", call.Op, subject(call), err)
	case err != nil:
		return "", fmt.Errorf("%s %s on %s: %w", call.Op, subject(call), call.Node, err)
	}
	return upid, nil
}

// subject names what a call is about: "qemu/101", the name of a file, or "Pool web".
func subject(call cluster.Call) string {
	if call.Op.IsAboutFile() {
		return call.Params[cluster.ParamFile]
	}
	if call.Op.IsObject() {
		return string(call.Kind) + " " + call.Object
	}
	return fmt.Sprintf("%s/%d", call.Kind.API(), call.VMID)
}

func (c *Client) do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	x, params, err := encode.Call(call)
	if err != nil {
		return "", err
	}
	x.Public, x.Check = encode.Public(params, call.Secrets, x.Path), check
	data, err := c.write(ctx, x, params)
	if err != nil {
		return "", err
	}
	if data == "" && call.Op.MayAnswerNull() {
		return "", nil
	}
	if _, err := meaning.ParseUPID(data); err != nil {
		x.Done = true
		return "", fmt.Errorf("%w: reply names no task: %w", cluster.ErrOutcomeUnknown, x.Withhold(err))
	}
	c.started.Store(data, x.Public == nil)
	return data, nil
}
