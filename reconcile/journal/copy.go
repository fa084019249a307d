package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Copy copies a whole journal with its chain to a place that has none, and reads it again there. The journal must not be written meanwhile: the caller has
// stopped the agents. The source stays as it was.
func Copy(ctx context.Context, from, to Place) (Summary, error) {
	image, err := from.image(ctx)
	if err != nil {
		return Summary{}, fmt.Errorf("copy journal: %w", err)
	}
	if err := to.store(ctx, image); err != nil {
		return Summary{}, fmt.Errorf("copy journal: %w", err)
	}
	copied, err := to.reader(ctx)(func(Record) error { return nil })
	switch want := image.summary; {
	case err != nil:
		return copied, fmt.Errorf("read the copied journal: %w", err)
	case copied.Lineage != want.Lineage || copied.Seq != want.Seq || copied.Head != want.Head || copied.Records != want.Records:
		return copied, fmt.Errorf("copy journal: the copy ends with record %d and head %s, want %d and %s", copied.Seq, copied.Head, want.Seq, want.Head)
	}
	return copied, nil
}

// Place is where Copy finds or puts a journal: a directory, or a service.
type Place struct {
	dir    string
	blocks Blocks
}

// Directory is a journal in files.
func Directory(dir string) Place { return Place{dir: dir} }

// Service is a journal in a service. To put one there, the Blocks must be those of the leader.
func Service(b Blocks) Place { return Place{blocks: b} }

// image is a whole journal, commit by commit.
type image struct {
	base    []byte // as in a file; nil without a compaction
	records int    // in the base
	chain   chain  // at the end
	start   chain  // before the first commit
	commits []frame
	summary Summary
}

func (p Place) reader(ctx context.Context) Reader {
	if p.blocks != nil {
		return InBlocks(ctx, p.blocks)
	}
	return InDir(p.dir)
}

func (p Place) image(ctx context.Context) (image, error) {
	if p.blocks != nil {
		return imageOfBlocks(ctx, p.blocks)
	}
	d, err := openDisk(p.dir)
	if err != nil {
		return image{}, err
	}
	defer d.root.Close()
	lock, err := d.lock()
	if err != nil {
		return image{}, err
	}
	defer lock.Close()
	return imageOfDisk(d)
}

func imageOfDisk(d disk) (image, error) {
	var m image
	names, err := d.list()
	if err != nil {
		return m, err
	}
	l := parseListing(names)
	if len(l.files()) == 0 {
		return m, fmt.Errorf("no journal in this directory: %w", fs.ErrNotExist)
	}
	if l.base != "" {
		f, err := d.open(l.base)
		if err != nil {
			return m, err
		}
		m.base, err = io.ReadAll(streamFrom(f, 0))
		if err = errors.Join(err, f.Close()); err != nil {
			return m, err
		}
	}
	compacted, _ := parseName(l.base, baseSuffix)
	r := replay{open: d.open, active: l.active(), visit: func(f frame) error {
		if f.seq <= compacted {
			m.records += f.count
		} else {
			m.commits = append(m.commits, f)
		}
		return nil
	}}
	err = r.run(l)
	m.finish(&r)
	return m, err
}

func imageOfBlocks(ctx context.Context, b Blocks) (image, error) {
	var m image
	r, err := readBlocks(ctx, recording{b, &m.base}, func(f frame) error {
		_, err := f.records()
		return err
	}, func(f frame) { m.commits = append(m.commits, f) })
	if err == nil && r.files == 0 {
		err = fmt.Errorf("no journal in the service: %w", fs.ErrNotExist)
	}
	m.records = r.records
	for _, f := range m.commits {
		m.records -= f.count
	}
	m.finish(&r)
	return m, err
}

// recording keeps the bytes of the base that pass.
type recording struct {
	Blocks
	base *[]byte
}

// Load implements Blocks.
func (b recording) Load(ctx context.Context, to BlockVisitor) error {
	base := to.Base
	to.Base = func(bytes []byte) error {
		*b.base = bytes
		return base(bytes)
	}
	return b.Blocks.Load(ctx, to)
}

func (m *image) finish(r *replay) {
	m.chain, m.summary = r.chain, r.summary()
	m.start = chain{id: r.chain.id, born: r.chain.born, next: 1, link: newLink(r.chain.id)}
	if m.base != nil {
		if h, err := readHeader(bytes.NewReader(m.base)); err == nil {
			m.start = h.chain
		}
	}
}

func (p Place) store(ctx context.Context, m image) error {
	if p.blocks != nil {
		return m.toBlocks(ctx, p.blocks)
	}
	d, lock, _, err := lockDirectory(p.dir)
	if err != nil {
		return err
	}
	return errors.Join(m.toDisk(d), lock.Close())
}

var errOccupied = fmt.Errorf("there is a journal already, which is not replaced: %w", fs.ErrExist)

// toDisk writes the commits as one segment. The mark of a service is removed: from now on the files are what counts.
func (m image) toDisk(d disk) error {
	names, err := d.list()
	if err != nil {
		return err
	}
	if len(parseListing(names).files()) > 0 {
		return errOccupied
	}
	if m.base != nil {
		f, err := writeFile(d, baseName(m.start.next-1), func(w io.WriterAt) error {
			_, err := w.WriteAt(m.base, 0)
			return err
		})
		if err = closed(f, err); err != nil {
			return err
		}
	}
	h := header{role: roleSegment, chain: m.start}
	for _, f := range m.commits {
		h.large = h.large || f.large()
	}
	f, err := writeFile(d, segmentName(m.start.next), func(w io.WriterAt) error {
		b := h.bytes()
		for _, f := range m.commits {
			b = f.append(b)
		}
		_, err := w.WriteAt(b, 0)
		return err
	})
	if err = closed(f, err); err != nil {
		return err
	}
	if err := d.remove(markName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return d.sync()
}

func closed(f file, err error) error {
	if err != nil {
		return err
	}
	return f.Close()
}

func (m image) toBlocks(ctx context.Context, b Blocks) error {
	r, err := readBlocks(ctx, b, func(frame) error { return nil }, func(frame) {})
	if err != nil {
		return err
	}
	if r.files > 0 {
		return errOccupied
	}
	s := blocks{remote: b}
	at, records := m.start, m.records
	first := at
	if m.base != nil { // the head before the base is replaced in the same call
		first = chain{id: at.id, born: at.born, next: 1, link: newLink(at.id)}
	}
	if _, err := b.Begin(ctx, s.headAt(first, 0)); err != nil {
		return err
	}
	if m.base != nil {
		if _, err := b.Replace(ctx, m.base, s.headAt(at, records)); err != nil {
			return err
		}
	}
	for _, f := range m.commits {
		at.next, at.link = f.last()+1, f.link
		records += f.count
		if err := b.Append(ctx, f.seq, f.append(nil), s.headAt(at, records)); err != nil {
			return err
		}
	}
	return nil
}
