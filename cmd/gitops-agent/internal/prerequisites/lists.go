package prerequisites

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/preflight"
)

// errOffline replaces the answer of an offline node. Such a node is not asked, because the request would only fail.
var errOffline = errors.New("the node is offline")

// maxQuestions is how many lists are read at the same time.
const maxQuestions = 6

// ask reads each list from its node.
func ask(ctx context.Context, reader *proxmox.Reader, lists []preflight.List, nodes []cluster.Node) map[preflight.List]preflight.Answer {
	answers := make(map[preflight.List]preflight.Answer, len(lists))
	var guard sync.Mutex // of answers
	var group errgroup.Group
	group.SetLimit(maxQuestions)
	for _, l := range lists {
		group.Go(func() error {
			a := answerOf(ctx, reader, l, nodes)
			guard.Lock()
			defer guard.Unlock()
			answers[l] = a
			return nil
		})
	}
	_ = group.Wait() // an error is part of its answer
	return answers
}

func answerOf(ctx context.Context, reader *proxmox.Reader, l preflight.List, nodes []cluster.Node) preflight.Answer {
	var a preflight.Answer
	offline := slices.ContainsFunc(nodes, func(n cluster.Node) bool { return n.Name == l.Node && !n.Online })
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
	return a
}

// contents reads what the sources of new guests contain. What cannot be read is left out: the plan then foresees nothing of it.
func contents(ctx context.Context, reader *proxmox.Reader, sources []preflight.Source, nodes []cluster.Node) map[preflight.Source]preflight.Content {
	found := make(map[preflight.Source]preflight.Content, len(sources))
	var guard sync.Mutex // of found
	var group errgroup.Group
	group.SetLimit(maxQuestions)
	for _, s := range sources {
		if slices.ContainsFunc(nodes, func(n cluster.Node) bool { return n.Name == s.Node && !n.Online }) {
			continue
		}
		group.Go(func() error {
			var c preflight.Content
			var err error
			switch {
			case s.VMID != 0:
				c.Keys, err = reader.KeysOf(ctx, cluster.Row{Kind: s.Kind, VMID: s.VMID, Node: s.Node}, s.Snapshot)
			case s.IsBackup():
				c.Keys, err = reader.ArchivedKeys(ctx, s.Node, s.Volume)
			default:
				c.Size, err = reader.VolumeSize(ctx, s.Node, s.Volume)
			}
			if err == nil {
				guard.Lock()
				defer guard.Unlock()
				found[s] = c
			}
			return nil
		})
	}
	_ = group.Wait() // no error ends it
	return found
}
