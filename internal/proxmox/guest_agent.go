package proxmox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
)

// PingAgent fails unless the guest agent of a virtual machine answers. It reads what the agent can do, since a read-only client sends no POST. Proxmox
// waits three seconds for an agent that does not answer.
//
// Source: PVE API, GET /nodes/{node}/qemu/{vmid}/agent/info.
func (r *Reader) PingAgent(ctx context.Context, row cluster.Row) error {
	about := route.AddressOf(row)
	if err := about.Check(); err != nil {
		return fmt.Errorf("ask the agent of %s: %w", about, err)
	}
	_, err := get[json.RawMessage](ctx, r, &wire.Exchange{Route: route.AgentInfo, Path: about.Path() + "/agent/info", Node: about.Node, About: about, Alone: true})
	if err != nil && strings.Contains(err.Error(), agentRefusal) {
		return nil
	}
	return err
}

// agentRefusal is in the answer of an agent whose administrator has blocked the command. Only an agent that runs can refuse.
const agentRefusal = "has been disabled"
