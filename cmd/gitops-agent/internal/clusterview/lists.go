package clusterview

import (
	"context"
	"errors"
	"slices"

	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile/preflight"
)

// errOffline replaces the answer of an offline node. Such a node is not asked, because the request would only fail.
var errOffline = errors.New("the node is offline")

// ask reads each list from its node, one after the other.
func ask(ctx context.Context, reader *proxmox.Reader, lists []preflight.List, nodes []proxmox.Node) map[preflight.List]preflight.Answer {
	answers := make(map[preflight.List]preflight.Answer, len(lists))
	for _, l := range lists {
		var a preflight.Answer
		offline := slices.ContainsFunc(nodes, func(n proxmox.Node) bool { return n.Name == l.Node && !n.Online })
		switch {
		case l.Kind == preflight.CPU:
			a.Names, a.Err = reader.CPUModels(ctx, l.Node) // every node answers this
		case offline:
			a.Err = errOffline
		case l.Kind == preflight.Bridge:
			a.Names, a.Err = reader.Bridges(ctx, l.Node)
		case l.Kind == preflight.Volume:
			a.Names, a.Err = reader.Volumes(ctx, l.Node, l.Storage, l.Content)
		}
		answers[l] = a
	}
	return answers
}
