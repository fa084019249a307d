package packs

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/hash"
)

// Limits bound what one received pack may cost.
type Limits struct {
	Objects uint32
	// Work is how many bytes may be unpacked or made by deltas, all together, with WorkPerObject more for each object. An object counts as 1 KiB more, and an
	// instruction of a delta of a large object as 2 KiB. A small pack may take less: 256 MiB and 2,048 times its size.
	Work, WorkPerObject int64
	Disk                int64 // bytes of all files at the same time; 0 is no limit
}

const (
	maxReceived = 1 << 30   // bytes of one unpacked object
	minWork     = 256 << 20 // that every pack may take
	workPerByte = 2 << 10   // of a pack, above that
	maxRefs     = 500_000   // deltas that name their base by its hash: git makes none where the base is in the pack
	objectWork  = 1 << 10   // work of an object of no bytes
	fewObjects  = 100       // of a pack whose objects are kept in memory
	fewBytes    = 4 << 20   // of these objects
	chunk       = 32 << 10  // bytes that are unpacked at once
	maxArena    = 8 << 20   // bytes of small deltas that are kept, so that they need not be unpacked twice
	maxKeptPart = 64 << 10  // bytes of one of these
	inMemory    = 8 << 20   // bytes of an object that is in memory as a delta base; a larger one is in a file
	maxHeld     = 24 << 20  // bytes of delta bases in memory
	maxScratch  = 2 << 30   // bytes of delta bases in files
	slowWork    = 2 << 10   // work of an instruction of a delta that reads from a file
	tapSize     = 64 << 10  // bytes that are read from the stream at once
	indexEntry  = 36        // bytes of an object in the index, at most, without its large offset
	slackPacked = 256       // bytes that a packed object may be larger than five quarters of its size: compression never makes so many, and empty blocks cost time
	maxCount    = 1<<31 - 1 // objects: numbers of records have 32 bits
)

const collectAfter = 1 << 18 // objects: see beginObject

// An Object is an object of a pack with few and small ones.
type Object struct {
	Hash    plumbing.Hash
	Type    plumbing.ObjectType
	Content []byte
}

// A Received is a pack in a file, with the hashes of all its objects. It is not yet part of a repository.
type Received struct {
	Checksum plumbing.Hash
	Few      []Object // all objects, in the order of the pack, if they are few and small; nil otherwise

	records table
	byHash  []uint32 // records, sorted by hash
	fanout  [256]uint32
}

// MissingError means that an object of a pack names another one that is neither in the pack nor known.
type MissingError struct {
	Type          plumbing.ObjectType
	From, Missing plumbing.Hash
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s %s names %s, which the remote did not send", e.Type, e.From, e.Missing)
}

// DiskError means that a pack, with the files that are needed to unpack it, is larger than what the disk has for it.
type DiskError struct{ Limit int64 }

func (e *DiskError) Error() string {
	return fmt.Sprintf("the pack and the files that unpack it have more than %d KiB", e.Limit>>10)
}

// A FileError is a failure to write a file on this machine.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// Receive writes a pack to file while it reads the pack, and finds the hash of each object. Every object that an object names must be in the pack, or known must
// report it; otherwise Receive returns a *MissingError. It returns ErrTooLarge above a limit, a *DiskError above that of the disk, and a *FileError for a failure of this
// machine.
//
// An entry of a pack does not state its compressed length, so each is unpacked to find the next: as a stream, of which nothing is kept. Deltas are resolved
// afterwards, from the bases down, with a bounded amount of content in memory.
//
// Source: gitformat-pack(5).
func Receive(ctx context.Context, file *os.File, stream io.Reader, limits Limits, known func(plumbing.Hash) bool) (*Received, error) {
	r := &receiver{
		ctx: ctx, file: file, limits: limits, pack: &Received{},
		tap:    tap{in: stream, out: file, sum: hash.New(hash.CryptoType), buf: make([]byte, tapSize)},
		hasher: hash.New(hash.CryptoType), buffer: make([]byte, chunk),
	}
	defer r.close()
	if err := r.header(); err != nil {
		return nil, err
	}
	for range r.count {
		if err := r.entry(); err != nil {
			return nil, fmt.Errorf("object at %d: %w", r.pack.records.last().offset(), unexpectedEOF(err))
		}
	}
	if err := r.trailer(); err != nil {
		return nil, err
	}
	if err := r.resolve(); err != nil {
		return nil, err
	}
	if err := r.checkDisk(int64(r.count) * indexEntry); err != nil {
		return nil, err
	}
	r.pack.sort(r.deltas)
	if err := r.links.check(ctx, r.pack, known); err != nil {
		return nil, err
	}
	return r.pack, nil
}

// A receiver receives one pack.
type receiver struct {
	ctx    context.Context //nolint:containedctx // of one call
	file   *os.File
	limits Limits
	pack   *Received
	tap    tap
	count  uint32
	work   int64

	zlib   io.ReadCloser
	hasher hash.Hash
	head   []byte // of the object that is hashed
	buffer []byte
	object object
	links  *linkList
	few    int // bytes in pack.Few

	deltas  []uint32 // records that are deltas of an earlier one, by number
	refs    []refDelta
	arena   []byte // small deltas
	scratch int64  // bytes in files
	held    int    // bytes of delta bases in memory
	spare   [][]byte
	again   inflater

	// The following are used again for each object, so that what millions of objects need is freed at no time: the garbage collector would let it
	// grow to the size of the records.
	at      counter
	section io.SectionReader
	limited io.LimitedReader
	small   bytes.Reader
	stack   []frame
	objects int // that were read
}

// A refDelta is a record that names its base by hash.
type refDelta struct {
	base   plumbing.Hash
	record uint32
	taken  bool // of the first delta of a base: an object with this hash has taken them all, and a copy of it has none
}

func (r *receiver) close() {
	if r.links != nil {
		r.links.close()
	}
}

// spend counts work, and returns ErrTooLarge if there was too much. It also ends the work of a context that is done.
func (r *receiver) spend(n int64) error {
	r.work += n
	if limit := min(minWork+workPerByte*r.tap.offset(), r.limits.Work+int64(r.count)*r.limits.WorkPerObject); r.work > limit {
		return fmt.Errorf("the unpacked objects of the pack are %w of %d MiB", ErrTooLarge, limit>>20)
	}
	if err := r.checkDisk(0); err != nil {
		return err
	}
	return r.ctx.Err()
}

// checkDisk returns an error if the files, with more bytes, are larger than what the disk has for them.
func (r *receiver) checkDisk(more int64) error {
	if r.limits.Disk > 0 && r.tap.offset()+r.scratch+r.links.spilled+more > r.limits.Disk {
		return &DiskError{r.limits.Disk}
	}
	return nil
}

// header reads how many objects the pack has.
func (r *receiver) header() error {
	var head [packHeader]byte
	switch n, err := io.ReadFull(&r.tap, head[:]); {
	case n == 0 && errors.Is(err, io.EOF):
		return errors.New("the pack is empty")
	case err != nil:
		return fmt.Errorf("header: %w", unexpectedEOF(err))
	case string(head[:4]) != "PACK":
		return errors.New("this is no pack: wrong signature")
	}
	version := binary.BigEndian.Uint32(head[4:])
	r.count = binary.BigEndian.Uint32(head[8:])
	switch {
	case version != 2 && version != 3:
		return fmt.Errorf("pack of version %d", version)
	case r.count > r.limits.Objects || r.count > maxCount:
		return fmt.Errorf("%d objects: %w of %d", r.count, ErrTooLarge, r.limits.Objects)
	}
	if r.count <= fewObjects {
		r.pack.Few = make([]Object, 0, r.count)
	}
	r.links = newLinkList(r.count, filepath.Dir(r.file.Name()))
	return r.checkDisk(int64(r.count) * indexEntry)
}

// entry reads one object.
func (r *receiver) entry() error {
	if r.tap.offset() > maxOffset {
		return fmt.Errorf("the pack is %w of %d GiB", ErrTooLarge, maxOffset>>30)
	}
	n := r.pack.records.add(recordAt(r.tap.offset()))
	rec := r.pack.records.at(n)
	r.tap.begin()
	r.at = counter{in: &r.tap}
	e, err := r.at.entry()
	if err != nil {
		return err
	}
	rec.typ = e.typ
	if err := r.base(n, rec); err != nil {
		return err
	}
	if e.size > maxReceived {
		return tooLarge(e.size, maxReceived)
	}
	if err := r.spend(objectWork); err != nil { // and what is unpacked, while it is: a large object is many bytes of the pack
		return err
	}
	r.tap.most = r.tap.offset() + e.size + e.size/4 + slackPacked
	content, err := r.inflate(&r.tap)
	if err != nil {
		return err
	}
	if e.typ.IsDelta() {
		err = r.delta(rec, content, e.size)
	} else {
		err = r.plain(n, rec, content, e.size)
	}
	if err != nil {
		return err
	}
	if err := end(content, r.buffer); err != nil {
		return err
	}
	if r.tap.offset() > r.tap.most {
		return errPacked
	}
	r.tap.most = 0
	rec.crc = r.tap.checksum()
	return nil
}

// base reads where the base of a delta is.
func (r *receiver) base(n uint32, rec *record) error {
	switch rec.typ { //nolint:exhaustive // the other types have no base
	case plumbing.OFSDeltaObject:
		distance, err := r.at.distance()
		if err != nil {
			return err
		}
		base, found := r.pack.records.atOffset(rec.offset() - distance)
		if !found || base >= n {
			return fmt.Errorf("no object is %d bytes before, where the base should be", distance)
		}
		rec.base = base
		if r.deltas == nil {
			r.deltas = make([]uint32, 0, r.count)
		}
		r.deltas = append(r.deltas, n)
	case plumbing.REFDeltaObject:
		d := refDelta{record: n}
		if _, err := io.ReadFull(&r.tap, r.buffer[:hashSize]); err != nil {
			return err
		}
		copy(d.base[:], r.buffer)
		if r.refs = append(r.refs, d); len(r.refs) > maxRefs {
			return fmt.Errorf("deltas that name their base by its hash: %w of %d", ErrTooLarge, maxRefs)
		}
	}
	return nil
}

// inflate returns the unpacked content that begins in the stream.
func (r *receiver) inflate(in io.Reader) (io.Reader, error) {
	if r.zlib == nil {
		z, err := zlib.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", unexpectedEOF(err))
		}
		r.zlib = z
		return z, nil
	}
	if err := r.zlib.(zlib.Resetter).Reset(in, nil); err != nil {
		return nil, fmt.Errorf("unpack: %w", unexpectedEOF(err))
	}
	return r.zlib, nil
}

// plain reads an object that is no delta.
func (r *receiver) plain(n uint32, rec *record, content io.Reader, size int64) error {
	o := r.beginObject(n, rec.typ)
	o.begin(size)
	if err := r.unpack(content, size, o); err != nil {
		return err
	}
	return o.end()
}

// unpack reads content of a size in parts, counts them as work and gives them to an object, which may be nil.
func (r *receiver) unpack(content io.Reader, size int64, o *object) error {
	for left := size; left > 0; {
		part := r.buffer[:min(left, chunk)]
		if err := fill(content, part); err != nil {
			return err
		}
		if err := r.spend(int64(len(part))); err != nil {
			return err
		}
		left -= int64(len(part))
		if err := o.write(part); err != nil {
			return err
		}
	}
	return nil
}

// delta reads a delta, which is resolved later. A small one is kept.
func (r *receiver) delta(rec *record, content io.Reader, size int64) error {
	if size <= maxKeptPart && len(r.arena)+int(size) <= maxArena {
		at := len(r.arena)
		r.arena = room(r.arena, int(size), maxArena)[:at+int(size)]
		rec.keepDelta(at, int(size))
		return cmp.Or(fill(content, r.arena[at:]), r.spend(size))
	}
	return r.unpack(content, size, nil)
}

// room returns b with room for n more bytes. It doubles what there is, up to a limit of bytes that is not exceeded: append leaves more to the garbage collector.
func room(b []byte, n, most int) []byte {
	if len(b)+n <= cap(b) {
		return b
	}
	return append(make([]byte, 0, min(max(2*cap(b), len(b)+n, 4<<10), most)), b...)
}

// An object reads the content of one object: it finds the hash and the links. A nil object reads nothing.
type object struct {
	r      *receiver
	record *record
	typ    plumbing.ObjectType
	number uint32
	links  *linkScanner
	kept   []byte // nil unless the object is kept
}

// beginObject returns the object of a record. There is one at a time.
func (r *receiver) beginObject(n uint32, typ plumbing.ObjectType) *object {
	if r.objects++; r.objects%collectAfter == 0 {
		runtime.GC() // zlib leaves some bytes for each object, which beside large records would stay until there is as much of them; records have no pointers to follow
	}
	r.object = object{r: r, record: r.pack.records.at(n), typ: typ, number: n}
	return &r.object
}

// begin must be called once, before the content.
func (o *object) begin(size int64) {
	if o == nil {
		return
	}
	r := o.r
	r.hasher.Reset()
	r.head = append(append(r.head[:0], o.typ.Bytes()...), ' ')
	r.head = append(strconv.AppendInt(r.head, size, 10), 0)
	_, _ = r.hasher.Write(r.head) // cannot fail
	o.links = r.links.scan(o.typ, o.number)
	if r.pack.Few == nil {
		return
	}
	if r.few += int(size); r.few > fewBytes {
		r.pack.Few = nil
		return
	}
	o.kept = make([]byte, 0, size)
}

// write reads a part of the content.
func (o *object) write(part []byte) error {
	if o == nil {
		return nil
	}
	_, _ = o.r.hasher.Write(part) // cannot fail
	if o.kept != nil {
		o.kept = append(o.kept, part...)
	}
	if err := o.links.write(part); err != nil {
		return err
	}
	return o.r.ctx.Err()
}

// end stores what was found.
func (o *object) end() error {
	o.record.typ = o.typ
	o.r.hasher.Sum(o.record.hash[:0])
	if o.kept != nil {
		o.r.pack.Few = append(o.r.pack.Few, Object{o.record.hash, o.typ, o.kept})
	}
	return o.links.end()
}

// trailer compares the checksum, and reads the rest of the stream, which has nothing that matters.
func (r *receiver) trailer() error {
	if err := r.tap.flush(); err != nil {
		return err
	}
	copy(r.pack.Checksum[:], r.tap.sum.Sum(nil))
	var sent plumbing.Hash
	if _, err := io.ReadFull(&r.tap, sent[:]); err != nil {
		return fmt.Errorf("checksum: %w", unexpectedEOF(err))
	}
	if sent != r.pack.Checksum {
		return fmt.Errorf("checksum: got %s for a pack with %s", sent, r.pack.Checksum)
	}
	if err := r.tap.flush(); err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, r.tap.in, tapSize) // so that the remote can end
	return nil
}

// Type returns the type of an object of the pack, or plumbing.InvalidObject.
func (p *Received) Type(h plumbing.Hash) plumbing.ObjectType {
	if n, found := p.find(h); found {
		return p.records.at(n).typ
	}
	return plumbing.InvalidObject
}

// Count returns the number of objects.
func (p *Received) Count() int { return int(p.records.n) }

// WriteIndex writes the index of the pack, in version 2.
//
// Source: gitformat-pack(5).
func (p *Received) WriteIndex(to io.Writer) error {
	sum := hash.New(hash.CryptoType)
	out := bufio.NewWriterSize(io.MultiWriter(to, sum), tapSize)
	put := func(b []byte) { _, _ = out.Write(b) } // Flush returns the first error
	var word [8]byte
	put([]byte(indexV2))
	for _, n := range p.fanout {
		put(binary.BigEndian.AppendUint32(word[:0], n))
	}
	for _, n := range p.byHash {
		put(p.records.at(n).hash[:])
	}
	for _, n := range p.byHash {
		put(binary.BigEndian.AppendUint32(word[:0], p.records.at(n).crc))
	}
	large := uint32(0)
	for _, n := range p.byHash {
		offset := p.records.at(n).offset()
		if offset >= largeOffset {
			offset = int64(largeOffset | large)
			large++
		}
		put(binary.BigEndian.AppendUint32(word[:0], uint32(offset))) //nolint:gosec // less than 1<<32
	}
	for _, n := range p.byHash {
		if offset := p.records.at(n).offset(); offset >= largeOffset {
			put(binary.BigEndian.AppendUint64(word[:0], uint64(offset)))
		}
	}
	put(p.Checksum[:])
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := to.Write(sum.Sum(nil))
	return err
}
