package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
)

var errCrash = errors.New("the machine is off")

// memDisk is a disk in memory that models a crash: the content of a file survives if the file was synced, and a name survives if the
// directory was synced. Every operation that changes something has a number, at which a test can make the operation fail or the
// power fail.
type memDisk struct {
	mu      sync.Mutex
	names   map[string]*memFile // as a running program sees it
	durable map[string]*memFile // names at the last sync
	pending []func(map[string]*memFile)
	ops     int
	off     bool
	fault   func(op int, what, name string) error // errCrash turns the machine off; any other error fails only this operation
}

func newMemDisk() *memDisk {
	return &memDisk{names: map[string]*memFile{}, durable: map[string]*memFile{}}
}

// crashAt turns the machine off in the middle of operation n, counted from now.
func (d *memDisk) crashAt(n int) {
	d.ops = 0
	d.fault = func(op int, _, _ string) error {
		if op == n {
			return errCrash
		}
		return nil
	}
}

// step counts an operation and returns its error. The caller holds d.mu.
func (d *memDisk) step(what, name string) error {
	if d.off {
		return errCrash
	}
	d.ops++
	if d.fault == nil {
		return nil
	}
	err := d.fault(d.ops, what, name)
	d.off = errors.Is(err, errCrash)
	return err
}

// change executes a directory operation. An operation that a crash interrupts may still have reached the disk.
func (d *memDisk) change(what, name string, do func(map[string]*memFile)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.step(what, name)
	if err == nil || d.off && len(d.names) > 0 && errors.Is(err, errCrash) {
		d.pending = append(d.pending, do)
		do(d.names)
	}
	return err
}

func (d *memDisk) list() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := range d.names {
		top, _, _ := strings.Cut(name, "/")
		names = append(names, top)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (d *memDisk) open(name string) (reader, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.names[name]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return memReader{bytes.NewReader(bytes.Clone(f.cache))}, nil
}

type memReader struct{ io.ReaderAt }

func (memReader) Close() error { return nil }

func (d *memDisk) create(name string) (file, error) {
	f := &memFile{disk: d, name: name, dirty: map[int]bool{}}
	if err := d.change("create", name, func(names map[string]*memFile) { names[name] = f }); err != nil {
		return nil, err
	}
	return f, nil
}

func (d *memDisk) resume(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return nil, errCrash
	}
	return d.names[name], nil
}

func (d *memDisk) rename(from, to string) error {
	return d.change("rename", to, func(names map[string]*memFile) {
		names[to] = names[from]
		names[to].name = to
		delete(names, from)
	})
}

func (d *memDisk) remove(name string) error {
	return d.change("remove", name, func(names map[string]*memFile) { delete(names, name) })
}

func (d *memDisk) linkInto(names []string, folder string) error {
	err := d.change("keep", folder, func(all map[string]*memFile) {
		for _, name := range names {
			all[path.Join(folder, name)] = all[name]
		}
	})
	return errors.Join(err, d.sync())
}

func (d *memDisk) sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step("syncdir", "."); err != nil {
		return err
	}
	d.durable, d.pending = maps.Clone(d.names), nil
	return nil
}

// memBlock is the size of the blocks in which unsynced content may reach the disk before a crash.
const memBlock = 32

type memFile struct {
	disk    *memDisk
	name    string
	cache   []byte // as a running program sees it
	durable []byte
	dirty   map[int]bool // blocks of cache that the system has not written yet
}

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	err := f.disk.step("write", f.name)
	if err != nil {
		b = b[:len(b)/2]
	}
	end := int(off) + len(b)
	if end > len(f.cache) {
		f.cache = append(f.cache, make([]byte, end-len(f.cache))...)
	}
	copy(f.cache[off:], b)
	for i := int(off) / memBlock; i*memBlock < end; i++ {
		f.dirty[i] = true
	}
	return len(b), err
}

func (f *memFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	err := f.disk.step("truncate", f.name)
	if err == nil {
		f.cache = f.cache[:size]
	}
	return err
}

// Sync drops the unwritten blocks if it fails, as Linux does: the page cache contains them, the disk never had them.
func (f *memFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	err := f.disk.step("sync", f.name)
	if f.disk.off {
		return err
	}
	if err == nil {
		f.durable = f.reached(len(f.cache), func(i int) bool { return f.dirty[i] })
	}
	clear(f.dirty)
	return err
}

func (f *memFile) Close() error { return nil }

// reached returns the content of the disk if the blocks that written selects arrived in addition to the synced ones.
func (f *memFile) reached(size int, written func(block int) bool) []byte {
	out := make([]byte, size)
	copy(out, f.durable)
	for i := 0; i*memBlock < size; i++ {
		if from := i * memBlock; written(i) && from < len(f.cache) {
			copy(out[from:min(from+memBlock, size)], f.cache[from:])
		}
	}
	return out
}

// crashOutcomes are the ways in which a crash may treat unsynced data.
var crashOutcomes = map[string]func(d *memDisk, rng *rand.Rand) *memDisk{
	"nothing_unsynced": func(d *memDisk, _ *rand.Rand) *memDisk {
		return d.after(0, func(f *memFile) []byte { return bytes.Clone(f.durable) })
	},
	"everything": func(d *memDisk, _ *rand.Rand) *memDisk {
		return d.after(len(d.pending), func(f *memFile) []byte {
			return f.reached(len(f.cache), func(i int) bool { return f.dirty[i] })
		})
	},
	"some": func(d *memDisk, rng *rand.Rand) *memDisk {
		return d.after(rng.IntN(len(d.pending)+1), func(f *memFile) []byte {
			size := len(f.cache)
			if grown := size - len(f.durable); grown > 0 {
				size -= rng.IntN(grown + 1)
			}
			return f.reached(size, func(i int) bool { return f.dirty[i] && rng.IntN(2) == 0 })
		})
	},
}

// after returns the disk at the next start: with the first unsynced directory operations done, and the files with the given content.
func (d *memDisk) after(done int, content func(*memFile) []byte) *memDisk {
	names := maps.Clone(d.durable)
	for _, do := range d.pending[:done] {
		do(names)
	}
	next := newMemDisk()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		next.put(name, content(names[name]))
	}
	return next
}

// put adds a durable file.
func (d *memDisk) put(name string, content []byte) {
	f := &memFile{disk: d, name: name, cache: bytes.Clone(content), durable: bytes.Clone(content), dirty: map[int]bool{}}
	d.names[name], d.durable[name] = f, f
}

// clone returns a durable copy of the disk as a running program sees it.
func (d *memDisk) clone() *memDisk {
	next := newMemDisk()
	for name, f := range d.names {
		next.put(name, f.cache)
	}
	return next
}
