package prerequisites

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/preflight"
)

// errOffline replaces the answer of an offline node. Such a node is not asked, because the request would only fail.
var errOffline = errors.New("the node is offline")

// maxQuestions is how many lists are read at the same time.
const maxQuestions = 6

// askEach asks each question, a few at the same time.
func askEach[Q comparable, A any](questions []Q, ask func(Q) A) map[Q]A {
	answers := make(map[Q]A, len(questions))
	var guard sync.Mutex // of answers
	var group errgroup.Group
	group.SetLimit(maxQuestions)
	for _, q := range questions {
		group.Go(func() error {
			a := ask(q)
			guard.Lock()
			defer guard.Unlock()
			answers[q] = a
			return nil
		})
	}
	_ = group.Wait() // an error is part of its answer
	return answers
}

// ask reads each list from its node.
func ask(ctx context.Context, reader *proxmox.Reader, lists []preflight.List, nodes []cluster.Node) map[preflight.List]preflight.Answer {
	return askEach(lists, func(l preflight.List) preflight.Answer { return answerOf(ctx, reader, l, nodes) })
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

// contents reads what the sources of new guests contain. What cannot be read is left out: the plan then foresees nothing of it. Templates are those that were read already, by vmid.
func contents(ctx context.Context, reader *proxmox.Reader, sources []preflight.Source, nodes []cluster.Node, templates map[int]guest.Observed) map[preflight.Source]preflight.Content {
	return askEach(sources, func(s preflight.Source) (c preflight.Content) {
		template, isRead := templates[s.VMID]
		var err error
		switch {
		case slices.ContainsFunc(nodes, func(n cluster.Node) bool { return n.Name == s.Node && !n.Online }):
		case isRead && s.Snapshot == "":
			c.Keys = template.Keys
		case s.VMID != 0:
			c.Keys, err = reader.KeysOf(ctx, cluster.Row{Kind: s.Kind, VMID: s.VMID, Node: s.Node}, s.Snapshot)
		case s.IsBackup():
			c.Keys, err = reader.ArchivedKeys(ctx, s.Node, s.Volume)
		default:
			c.Size, err = reader.VolumeSize(ctx, s.Node, s.Volume)
		}
		if err != nil {
			return preflight.Content{}
		}
		return c
	})
}
