package journal

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// FilesPlace is a journal in files, on a disk in memory, for the suite of storetest.
type FilesPlace struct {
	disk    *memDisk
	journal *Journal
	seed    uint64
}

// NewFilesPlace returns an empty place.
func NewFilesPlace() *FilesPlace { return &FilesPlace{disk: newMemDisk()} }

// Open implements storetest.Place.
func (p *FilesPlace) Open(t *testing.T, opts Options) *Journal {
	t.Helper()
	opts.disk = p.disk
	p.journal = openJournal(t, opts)
	if err := p.journal.Healthy(); err != nil {
		t.Fatal(err)
	}
	return p.journal
}

// Kill implements storetest.Place: the power fails too.
func (p *FilesPlace) Kill(*testing.T) {
	p.seed++
	p.disk = crashOutcomes["some"](p.disk, rand.New(rand.NewPCG(p.seed, 19)))
}

// Tear implements storetest.Place.
func (p *FilesPlace) Tear(t *testing.T) {
	t.Helper()
	names, _ := p.disk.list()
	active := parseListing(names).active()
	f, err := frameOf([]Record{{Seq: p.journal.State().Seq + 1, Time: time.Now(), Body: Event{Name: "torn"}}})
	if err != nil {
		t.Fatal(err)
	}
	bytes := f.after(p.journal.chain.link).append(nil)
	p.disk.put(active, append(p.disk.names[active].cache, bytes[:len(bytes)-3]...))
}

// Slow implements storetest.Place.
func (p *FilesPlace) Slow(_ *testing.T, by time.Duration) {
	p.fault(func() error {
		time.Sleep(by)
		return nil
	})
}

// Cut implements storetest.Place.
func (p *FilesPlace) Cut(*testing.T) {
	p.fault(func() error { return errors.New("input/output error") })
}

// Heal implements storetest.Place.
func (p *FilesPlace) Heal(*testing.T) { p.fault(func() error { return nil }) }

func (p *FilesPlace) fault(f func() error) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	p.disk.fault = func(int, string, string) error { return f() }
}

// Succeed implements storetest.Place. Two processes cannot have the directory: TestLock tests it with a real one.
func (p *FilesPlace) Succeed(*testing.T) error { return ErrLocked }

// Read implements storetest.Place.
func (p *FilesPlace) Read() Reader {
	return func(yield func(Record) error) (Summary, error) { return read(p.disk, yield) }
}
