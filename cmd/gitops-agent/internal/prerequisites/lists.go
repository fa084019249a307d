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
