package packs

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// maxChain is the longest chain of deltas that git makes.
	maxChain = 4095
	// maxBase bounds a delta base, in bytes. git makes no delta whose base is more than 32 times as large as its result, and no commit, tag or file that the
	// agent reads has more than one MiB.
	maxBase = 32 << 20
	// maxWork bounds the content that is unpacked for one object, with all its bases, in bytes. It takes some seconds.
	maxWork = 1 << 30
)

// unpack returns the object at offset, if it has the type typ.
func (s *Set) unpack(ctx context.Context, p *pack, offset int64, typ plumbing.ObjectType, limit int64) ([]byte, error) {
	u := unpacking{set: s, pack: p, limit: limit}
	found, err := u.descend(ctx, offset)
	if err != nil {
		return nil, err
	}
	if found != typ {
		return nil, ErrNotFound
	}
	if len(u.deltas) == 0 && u.content != nil {
		if int64(len(u.content)) > limit {
			return nil, tooLarge(int64(len(u.content)), limit)
		}
		return append([]byte(nil), u.content...), nil // what is in the cache must not change
	}
	return u.ascend(ctx)
}

// An unpacking is the work for one object: down the chain of deltas to a base, and up again.
type unpacking struct {
	set   *Set
	pack  *pack
	limit int64 // bytes of the object

	typ     plumbing.ObjectType
	deltas  []located // the object itself is the first
	base    located   // the object at the end of the chain, unless content was in the cache
	content []byte
	work    int64     // bytes that were unpacked
	spare   [2][]byte // for content that is too large for the cache
	flip    int
}

type located struct {
	entry
	offset int64
}

// descend follows the deltas from offset to an object that is in the cache or is no delta, and returns its type.
func (u *unpacking) descend(ctx context.Context, offset int64) (plumbing.ObjectType, error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if known, found := u.set.cache.get(u.pack, offset); found {
			u.typ, u.content = known.typ, known.content
			return u.typ, nil
		}
		e, err := u.set.readEntry(u.pack, offset)
		if err != nil {
			return 0, err
		}
		if !e.typ.IsDelta() {
			u.typ, u.base = e.typ, located{e, offset}
			return u.typ, nil
		}
		if len(u.deltas) == maxChain {
			return 0, fmt.Errorf("chain of deltas: %w of %d", ErrTooLarge, maxChain)
		}
		u.deltas = append(u.deltas, located{e, offset})
		offset = e.base
	}
}

// ascend unpacks the base and applies the deltas to it.
func (u *unpacking) ascend(ctx context.Context) ([]byte, error) {
	if u.content == nil {
		if err := u.plain(); err != nil {
			return nil, err
		}
	}
	for len(u.deltas) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		last := len(u.deltas) - 1
		next := u.deltas[last]
		u.deltas = u.deltas[:last]
		if err := u.apply(next); err != nil {
			return nil, err
		}
	}
	if int64(len(u.content)) <= maxCached {
		return append([]byte(nil), u.content...), nil // what is in the cache must not change
	}
	return u.content, nil
}

// plain unpacks the object at the end of the chain.
func (u *unpacking) plain() error {
	content, err := u.space(u.base.size)
	if err != nil {
		return err
	}
	in, err := u.inflate(u.base)
	if err != nil {
		return err
	}
	if err := fill(in, content); err != nil {
		return err
	}
	if err := end(in, make([]byte, 1)); err != nil {
		return err
	}
	u.use(content, u.base.offset)
	return nil
}

// apply replaces the content by the result of a delta.
func (u *unpacking) apply(d located) error {
	in, err := u.inflate(d)
	if err != nil {
		return err
	}
	declared := &io.LimitedReader{R: in, N: d.size}
	delta := bufio.NewReaderSize(declared, 1<<10)
	size, err := deltaSizes(delta, int64(len(u.content)))
	if err != nil {
		return err
	}
	result, err := u.space(size)
	if err != nil {
		return err
	}
	if err := patch(result, u.content, delta); err != nil {
		return err
	}
	if declared.N != 0 || delta.Buffered() != 0 {
		return fmt.Errorf("the delta does not have the %d bytes that it declares", d.size)
	}
	if err := end(in, make([]byte, 1)); err != nil {
		return err
	}
	u.use(result, d.offset)
	return nil
}

// inflate returns the unpacked content of an entry.
func (u *unpacking) inflate(l located) (io.Reader, error) {
	if _, err := u.set.reader(u.pack, l.content); err != nil {
		return nil, err
	}
	return u.set.zlib.open()
}

// space returns room for the next content, after it compared its size with the limits.
func (u *unpacking) space(size int64) ([]byte, error) {
	limit, what := int64(maxBase), "delta base of "
	if len(u.deltas) == 0 {
		limit, what = u.limit, ""
	}
	if size > limit {
		return nil, fmt.Errorf("%s%w", what, tooLarge(size, limit))
	}
	if u.work += size; u.work > maxWork {
		return nil, fmt.Errorf("the object with its delta bases: %w", tooLarge(u.work, maxWork))
	}
	if size <= maxCached {
		return make([]byte, size), nil
	}
	// Two buffers are enough: one has the content to which a delta is applied, the other takes the result.
	u.flip = 1 - u.flip
	if int64(cap(u.spare[u.flip])) < size {
		u.spare[u.flip] = make([]byte, size, max(size, min(2*int64(cap(u.spare[u.flip])), maxBase)))
	}
	return u.spare[u.flip][:size], nil
}

// use makes content the current one, and remembers it if it is small.
func (u *unpacking) use(content []byte, offset int64) {
	u.content = content
	if len(content) <= maxCached {
		u.set.cache.put(u.pack, offset, cached{u.typ, content})
	}
}

func tooLarge(size, limit int64) error {
	return fmt.Errorf("%d bytes: %w of %d bytes", size, ErrTooLarge, limit)
}
