package packs

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
)

// resolve finds the hashes of the deltas. It goes from each object that is no delta to the deltas of it, and from these to theirs. Content is in memory only while
// deltas of it are left, and the oldest is dropped and made again if there is too much.
func (r *receiver) resolve() error {
	if len(r.deltas)+len(r.refs) == 0 {
		return nil
	}
	records := &r.pack.records
	slices.SortStableFunc(r.deltas, func(a, b uint32) int { return cmp.Compare(records.at(a).base, records.at(b).base) })
	slices.SortFunc(r.refs, func(a, b refDelta) int {
		return cmp.Or(bytes.Compare(a.base[:], b.base[:]), cmp.Compare(a.record, b.record))
	})
	for _, typ := range []plumbing.ObjectType{plumbing.CommitObject, plumbing.TagObject, plumbing.TreeObject, plumbing.BlobObject} {
		for n := range records.n {
			if records.at(n).typ != typ || !r.isRoot(n) {
				continue
			}
			if err := r.resolveFrom(n, typ); err != nil {
				return fmt.Errorf("deltas of the %s at %d: %w", typ, records.at(n).offset(), err)
			}
		}
	}
	for n := range records.n {
		if rec := records.at(n); rec.typ.IsDelta() {
			return fmt.Errorf("object at %d: the base of the delta is not in the pack", rec.offset())
		}
	}
	return nil
}

// isRoot reports whether an object that is no delta has deltas that are not resolved.
func (r *receiver) isRoot(n uint32) bool {
	f := r.frame(n)
	return f.ofs < f.ofsEnd || f.ref < f.refEnd
}

// A frame is an object on the way from an object that is no delta to the delta that is resolved next.
type frame struct {
	record      uint32
	content     content
	ofs, ofsEnd int // its deltas in receiver.deltas that are left
	ref, refEnd int // and in receiver.refs
}

// frame returns an object with its deltas, without content.
func (r *receiver) frame(n uint32) frame {
	f := frame{record: n}
	records := &r.pack.records
	f.ofs = sort.Search(len(r.deltas), func(i int) bool { return records.at(r.deltas[i]).base >= n })
	for f.ofsEnd = f.ofs; f.ofsEnd < len(r.deltas) && records.at(r.deltas[f.ofsEnd]).base == n; {
		f.ofsEnd++
	}
	if len(r.refs) == 0 {
		return f
	}
	h := records.at(n).hash
	f.ref = sort.Search(len(r.refs), func(i int) bool { return bytes.Compare(r.refs[i].base[:], h[:]) >= 0 })
	if f.refEnd = f.ref; f.ref < len(r.refs) && r.refs[f.ref].taken {
		return f // the first of several copies of the object resolves them
	}
	for f.refEnd < len(r.refs) && r.refs[f.refEnd].base == h {
		f.refEnd++
	}
	return f
}

// next returns the next delta of the object that is not resolved. Two equal objects have the same deltas.
func (f *frame) next(r *receiver) (uint32, bool) {
	for {
		var n uint32
		switch {
		case f.ofs < f.ofsEnd:
			n = r.deltas[f.ofs]
			f.ofs++
		case f.ref < f.refEnd:
			n = r.refs[f.ref].record
			f.ref++
		default:
			return 0, false
		}
		if r.pack.records.at(n).typ.IsDelta() {
			return n, true
		}
	}
}

// take returns the frame, whose deltas by hash no copy of the object has from now on.
func (r *receiver) take(f frame) frame {
	if f.ref < f.refEnd {
		r.refs[f.ref].taken = true
	}
	return f
}

func (f *frame) isDone() bool { return f.ofs == f.ofsEnd && f.ref == f.refEnd }

// resolveFrom resolves the deltas of an object that is no delta, and theirs.
func (r *receiver) resolveFrom(root uint32, typ plumbing.ObjectType) error {
	stack := append(r.stack[:0], r.take(r.frame(root)))
	defer func() {
		for i := range stack {
			r.release(&stack[i].content)
		}
		r.stack = stack
	}()
	for len(stack) > 0 {
		top := len(stack) - 1
		n, found := stack[top].next(r)
		if !found {
			r.release(&stack[top].content)
			stack = stack[:top]
			continue
		}
		if err := r.load(stack); err != nil {
			return err
		}
		f := r.frame(n) // its deltas that name it by its hash are not known yet
		h := r.beginObject(n, typ)
		made, err := r.apply(stack[top].content, n, h, !f.isDone())
		if err != nil {
			return fmt.Errorf("delta at %d: %w", r.pack.records.at(n).offset(), err)
		}
		if stack[top].isDone() {
			r.release(&stack[top].content)
		}
		if err := h.end(); err != nil {
			r.release(&made)
			return err
		}
		if len(r.refs) > 0 {
			f = r.frame(n)
		}
		f.content = made
		if f.isDone() {
			r.release(&f.content)
			continue
		}
		if len(stack) > maxChain {
			r.release(&f.content)
			return fmt.Errorf("chain of deltas: %w of %d", ErrTooLarge, maxChain)
		}
		stack = append(stack, r.take(f))
		r.dropOldest(stack)
	}
	return nil
}

// dropOldest drops content while there is too much. The last two are needed next.
func (r *receiver) dropOldest(stack []frame) {
	for i := 0; i < len(stack)-2 && r.held > maxHeld; i++ {
		if stack[i].content.file == nil {
			r.release(&stack[i].content)
		}
	}
}

// load makes the content of the last frame if it was dropped or not yet made, from the nearest one that there is.
func (r *receiver) load(stack []frame) error {
	from := len(stack) - 1
	for from > 0 && !stack[from].content.isMade() {
		from--
	}
	if !stack[from].content.isMade() { // the object that is no delta
		made, err := r.unpackRoot(stack[from].record)
		if err != nil {
			return err
		}
		stack[from].content = made
	}
	for ; from < len(stack)-1; from++ {
		made, err := r.apply(stack[from].content, stack[from+1].record, nil, true)
		if err != nil {
			return err
		}
		stack[from+1].content = made
		if stack[from].isDone() {
			r.release(&stack[from].content)
		}
		r.dropOldest(stack[:from+2])
	}
	return nil
}

// content is the content of an object: in memory, or in a file of its own if it is large.
type content struct {
	mem  []byte
	file *os.File
	size int64
	made bool
}

func (c *content) isMade() bool { return c.made }

func (r *receiver) checkSize(size int64) error {
	if size > maxReceived {
		return tooLarge(size, maxReceived)
	}
	return nil
}

// space returns room for content of a size.
func (r *receiver) space(size int64) (content, error) {
	if err := cmp.Or(r.checkSize(size), r.spend(objectWork+size)); err != nil {
		return content{}, err
	}
	if size > inMemory {
		if r.scratch+size > maxScratch {
			return content{}, fmt.Errorf("large delta bases: %w of %d bytes", ErrTooLarge, int64(maxScratch))
		}
		if err := r.checkDisk(size); err != nil {
			return content{}, err
		}
		file, err := scratchFile(filepath.Dir(r.file.Name()))
		if err != nil {
			return content{}, err
		}
		r.scratch += size
		return content{file: file, size: size, made: true}, nil
	}
	r.held += int(size)
	for i, b := range r.spare {
		if int64(cap(b)) >= size {
			r.spare = slices.Delete(r.spare, i, i+1)
			return content{mem: b[:size], size: size, made: true}, nil
		}
	}
	return content{mem: make([]byte, size, max(size+size/4, 4<<10)), size: size, made: true}, nil
}

// maxSpare bounds the buffers that are used again, and their bytes.
const (
	maxSpare      = 8
	maxSpareBytes = 1 << 20 // of one
)

// release drops content.
func (r *receiver) release(c *content) {
	switch {
	case !c.made:
		return
	case c.file != nil:
		_ = c.file.Close() // its name was removed when it was made
		r.scratch -= c.size
	default:
		r.held -= len(c.mem)
		if len(r.spare) < maxSpare && cap(c.mem) <= maxSpareBytes {
			r.spare = append(r.spare, c.mem)
		}
	}
	*c = content{}
}

// scratchFile returns a file without a name, in the folder of the pack.
func scratchFile(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "tmp_scratch_")
	if err != nil {
		return nil, &FileError{err}
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, &FileError{errors.Join(err, file.Close())}
	}
	return file, nil
}

// unpackAt returns the unpacked content of the entry at an offset of the file, and its header.
func (r *receiver) unpackAt(offset int64) (io.Reader, entry, error) {
	r.section = *io.NewSectionReader(r.file, offset, 1<<62)
	in := r.again.from(&r.section)
	r.at = counter{in: in}
	e, err := r.at.entry()
	if err != nil {
		return nil, entry{}, unexpectedEOF(err)
	}
	switch e.typ { //nolint:exhaustive // the other types have no base
	case plumbing.OFSDeltaObject:
		_, err = r.at.distance()
	case plumbing.REFDeltaObject:
		_, err = in.Discard(hashSize)
	}
	if err != nil {
		return nil, entry{}, unexpectedEOF(err)
	}
	out, err := r.again.open()
	return out, e, err
}

// unpackRoot unpacks an object that is no delta a second time.
func (r *receiver) unpackRoot(n uint32) (content, error) {
	in, e, err := r.unpackAt(r.pack.records.at(n).offset())
	if err != nil {
		return content{}, err
	}
	made, err := r.space(e.size)
	if err != nil {
		return content{}, err
	}
	if made.file == nil {
		err = fill(in, made.mem)
	} else {
		err = r.copyTo(made.file, in, e.size)
	}
	if err != nil {
		r.release(&made)
		return content{}, err
	}
	return made, nil
}

// copyTo writes size bytes to a file.
func (r *receiver) copyTo(file *os.File, in io.Reader, size int64) error {
	for left := size; left > 0; {
		part := r.buffer[:min(left, chunk)]
		if err := fill(in, part); err != nil {
			return err
		}
		if _, err := file.Write(part); err != nil {
			return &FileError{err}
		}
		left -= int64(len(part))
		if err := r.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// apply returns what a delta makes of its base. The object o reads it, unless it is nil. A large result is stored only if keep is set.
func (r *receiver) apply(base content, n uint32, o *object, keep bool) (content, error) {
	delta, err := r.openDelta(n)
	if err != nil {
		return content{}, err
	}
	size, err := deltaSizes(delta, base.size)
	if err != nil {
		return content{}, err
	}
	made := content{size: size}
	if keep || size <= inMemory {
		made, err = r.space(size)
	} else {
		err = cmp.Or(r.checkSize(size), r.spend(objectWork+size))
	}
	if err != nil {
		return content{}, err
	}
	o.begin(size)
	if base.file == nil && made.mem != nil {
		if err = patch(made.mem, base.mem, delta); err == nil {
			err = o.write(made.mem)
		}
	} else {
		err = r.patchSlowly(made, base, delta, o)
	}
	if err == nil {
		if _, more := delta.ReadByte(); more == nil {
			err = errors.New("the delta is longer than its result")
		}
	}
	if err != nil {
		r.release(&made)
		return content{}, err
	}
	return made, nil
}

// openDelta returns the instructions of a delta.
func (r *receiver) openDelta(n uint32) (*bufio.Reader, error) {
	rec := r.pack.records.at(n)
	if at, size, kept := rec.keptDelta(); kept && rec.typ.IsDelta() {
		r.small.Reset(r.arena[at : at+size])
		return r.again.read(&r.small), nil
	}
	in, e, err := r.unpackAt(rec.offset())
	if err != nil {
		return nil, err
	}
	if err := r.spend(e.size); err != nil {
		return nil, err
	}
	r.limited = io.LimitedReader{R: in, N: e.size}
	return r.again.read(&r.limited), nil
}

// patchSlowly is patch for content of which some is in a file.
func (r *receiver) patchSlowly(result, base content, delta *bufio.Reader, o *object) error {
	var from io.ReaderAt = bytes.NewReader(base.mem)
	if base.file != nil {
		from = base.file
	}
	to := &resultWriter{content: result, object: o}
	for to.n < result.size {
		if err := r.spend(slowWork); err != nil {
			return err
		}
		op, err := delta.ReadByte()
		if err != nil {
			return fmt.Errorf("read delta: %w", unexpectedEOF(err))
		}
		if op&0x80 == 0 {
			if int64(op) > result.size-to.n || op == 0 {
				return fmt.Errorf("the delta inserts %d bytes, and %d are missing", op, result.size-to.n)
			}
			if err := fill(delta, r.buffer[:op]); err != nil {
				return err
			}
			if err := to.write(r.buffer[:op]); err != nil {
				return err
			}
			continue
		}
		offset, size, err := copyRange(op, delta)
		if err != nil {
			return err
		}
		if size > result.size-to.n || offset > base.size || size > base.size-offset {
			return fmt.Errorf("the delta copies %d bytes at %d of a base of %d bytes, and %d are missing", size, offset, base.size, result.size-to.n)
		}
		for size > 0 {
			part := r.buffer[:min(size, chunk)]
			if err := readAt(from, part, offset); err != nil {
				return &FileError{err}
			}
			if err := to.write(part); err != nil {
				return err
			}
			offset, size = offset+int64(len(part)), size-int64(len(part))
		}
	}
	return to.flush()
}

// A resultWriter writes content from its start, and hands it to an object.
type resultWriter struct {
	content
	object *object
	n      int64
	buf    *bufio.Writer
}

func (w *resultWriter) write(p []byte) error {
	copy(w.mem[min(w.n, int64(len(w.mem))):], p)
	w.n += int64(len(p))
	if w.file != nil {
		if w.buf == nil {
			w.buf = bufio.NewWriterSize(w.file, tapSize)
		}
		if _, err := w.buf.Write(p); err != nil {
			return &FileError{err}
		}
	}
	return w.object.write(p)
}

func (w *resultWriter) flush() error {
	if w.buf == nil {
		return nil
	}
	if err := w.buf.Flush(); err != nil {
		return &FileError{err}
	}
	return nil
}
