package gitsource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/gitsource/fault"
	"gitops-agent/gitsource/remote"
)

// nextRemoteAfter is how long a fetch waits for the refs of one remote until it also asks the next one.
const nextRemoteAfter = 2 * time.Second

// refsReply is what a remote replied to the request for its refs. After a success its session is open.
type refsReply struct {
	at            int
	session       remote.Session
	advertisement remote.Advertisement
	tip           plumbing.Hash
	remaining     *int64
	cancel        context.CancelFunc
	ctx           context.Context //nolint:containedctx // bounds the whole exchange with the remote
	err           error
}

// end closes the session. It returns the remote's message.
func (r *refsReply) end() string {
	defer r.cancel()
	if r.session == nil {
		return ""
	}
	return r.session.End()
}

// askRefs requests the refs of a remote.
func (s *Source) askRefs(ctx context.Context, at int) *refsReply {
	remaining := s.opts.MaxFetchBytes
	r := &refsReply{at: at, remaining: &remaining}
	r.ctx, r.cancel = context.WithTimeout(ctx, s.opts.Timeout)
	r.err = func() (err error) {
		defer recoverTo(&err)
		if r.session, err = s.remotes[at].Dial(r.ctx, r.remaining); err != nil {
			return err
		}
		if r.advertisement, err = remote.ReadRefs(r.ctx, r.session, s.tracking(), s.opts.Notes); err != nil {
			return err
		}
		r.tip, err = r.advertisement.Branch(s.opts.Branch)
		return err
	}()
	return r
}

// race is a fetch of the branch from several remotes. It asks them for their refs, each one a short time after the one before, and transfers the objects
// from the first one that replies.
type race struct {
	s        *Source
	ctx      context.Context //nolint:containedctx // of this fetch
	order    []int
	next     int // index in order
	first    int // the remote whose reply is waited for; -1 is none
	pending  []int
	replies  chan *refsReply
	held     []*refsReply // usable, while first has not replied
	failures []error
}

// fetchAny fetches the branch from the remotes.
func (s *Source) fetchAny(ctx context.Context) (Head, error) {
	r := race{s: s, ctx: ctx, replies: make(chan *refsReply, len(s.remotes))}
	r.order, r.first = s.order()
	if !slices.Contains(r.order, r.first) {
		r.first = -1
	}
	defer r.leave()
	r.ask()
	for _, at := range r.order[r.next:] {
		if s.isBad(at) && r.next < len(r.order) && !s.isBad(r.order[0]) {
			r.askNow(at) // whether it works again; its reply is not waited for
		}
	}
	timer := time.NewTimer(nextRemoteAfter)
	defer timer.Stop()
	for len(r.pending) > 0 {
		select {
		case reply := <-r.replies:
			r.pending = slices.DeleteFunc(r.pending, func(at int) bool { return at == reply.at })
			s.setAsked(reply.at, false)
			if head, err, done := r.take(reply); done {
				return head, err
			}
		case <-timer.C:
			r.noteLate()
			r.ask()
			timer.Reset(nextRemoteAfter)
		case <-ctx.Done():
			return Head{}, fmt.Errorf("fetch: %w", context.Cause(ctx))
		}
	}
	if len(r.failures) == 0 {
		return Head{}, &RemoteError{s.remotes[0].Name, fault.New(fault.Late, errors.New("no remote has replied to the requests of earlier polls yet"))}
	}
	return Head{}, errors.Join(r.failures...)
}

// ask requests the refs of the next remote.
func (r *race) ask() {
	for r.next < len(r.order) {
		at := r.order[r.next]
		r.next++
		if !slices.Contains(r.pending, at) {
			r.askNow(at)
			return
		}
	}
}

func (r *race) askNow(at int) {
	r.pending = append(r.pending, at)
	r.s.setAsked(at, true)
	go func() { r.replies <- r.s.askRefs(r.ctx, at) }()
}

// noteLate notes the remotes that have not replied when the next one is asked.
func (r *race) noteLate() {
	for _, at := range r.pending {
		if !r.s.isBad(at) {
			r.s.note(at, RemoteLate, fault.New(fault.Late, fmt.Errorf("no reply within %s", nextRemoteAfter)))
		}
	}
}

// take processes a reply. It returns whether the fetch is done.
func (r *race) take(reply *refsReply) (Head, error, bool) {
	s := r.s
	if r.ctx.Err() != nil {
		reply.end()
		return Head{}, fmt.Errorf("fetch: %w", context.Cause(r.ctx)), true
	}
	if reply.at == r.first {
		r.first = -1
		s.setNewer(reply.at, false)
	}
	switch {
	case reply.err != nil:
		r.fail(reply, RemoteFailed, reply.err)
	case s.isBehind(reply.at, reply.tip):
		r.fail(reply, RemoteBehind, fmt.Errorf("%w (it has %s)", ErrBehind, reply.tip))
	default:
		r.held = append(r.held, reply)
	}
	for r.first < 0 && len(r.held) > 0 {
		use := r.held[len(r.held)-1] // that of first, if it is good, because it came last
		r.held = r.held[:len(r.held)-1]
		head, err := r.transfer(use)
		var local storeError
		switch {
		case err == nil || errors.As(err, &local):
			return head, err, true
		case r.ctx.Err() != nil:
			use.end()
			return Head{}, err, true
		}
		r.fail(use, RemoteFailed, err)
	}
	return Head{}, nil, false
}

// fail notes that a remote is of no use, and asks the next one.
func (r *race) fail(reply *refsReply, state RemoteState, err error) {
	if errors.Is(reply.ctx.Err(), context.DeadlineExceeded) {
		err = fault.New(fault.Late, fmt.Errorf("timeout of %s exceeded: %w", r.s.opts.Timeout, err))
	}
	if message := reply.end(); message != "" {
		err = fmt.Errorf("%w (message of the remote: %q)", err, message)
	}
	r.s.note(reply.at, state, err)
	r.failures = append(r.failures, &RemoteError{r.s.remotes[reply.at].Name, err})
	r.ask()
}

// transfer fetches the objects from a remote.
func (r *race) transfer(reply *refsReply) (Head, error) {
	s := r.s
	name := s.remotes[reply.at].Name
	err := func() (err error) {
		defer recoverTo(&err)
		return s.update(reply.ctx, transfer{name, reply.session, reply.advertisement, reply.tip, s.tracking(), packLimits})
	}()
	if err != nil {
		var local storeError
		if errors.As(err, &local) {
			reply.end()
			return Head{}, fmt.Errorf("fetch %s: %w", name, err)
		}
		return Head{}, err
	}
	reply.end()
	s.note(reply.at, RemoteAnswers, nil)
	s.head, s.servedBy = reply.tip, reply.at
	return Head{Commit: ID(reply.tip.String()), Remote: name, Notes: ID(reply.advertisement.Notes(s.opts.Notes))}, nil
}

// leave ends the fetch. Remotes that have not replied yet are not waited for; if one then names a commit that the store does not have, the next fetch waits
// for that remote.
func (r *race) leave() {
	for _, reply := range r.held {
		reply.end()
	}
	if len(r.pending) == 0 {
		return
	}
	s, replies, count := r.s, r.replies, len(r.pending)
	go func() {
		for range count {
			reply := <-replies
			reply.end()
			if r.ctx.Err() == nil {
				s.judgeLate(reply)
			}
			s.setAsked(reply.at, false)
		}
	}()
}

// judgeLate notes the reply of a remote that a fetch did not wait for.
func (s *Source) judgeLate(reply *refsReply) {
	if reply.err != nil {
		s.note(reply.at, RemoteFailed, reply.err)
		return
	}
	s.note(reply.at, RemoteAnswers, nil)
	if !s.repo.has(reply.tip) {
		s.setNewer(reply.at, true)
	}
}
