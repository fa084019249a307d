package journal

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// RepairReport says what Repair did.
type RepairReport struct {
	Damage        *DamageError // what was wrong; nil when nothing was, and then nothing was changed
	Saved         string       // folder in the journal's directory that keeps the files as they were
	Kept          int          // records that could be read
	Lost          []Gap        // records that could not
	LostCompacted int          // records that could not be read of those that a compaction had kept
	LostBytes     int64
	Foreign       []string // files of another journal, which were set aside
	Orders        []string // keys of the orders that had not ended: they are unknown now, and must be signed again
}

// Gap is a run of missing records.
type Gap struct{ First, Last uint64 }

// EventRepaired is the name of the Event that Repair leaves.
const EventRepaired = "journal_repaired"

// Repair makes a damaged journal usable again. It keeps every record whose own checksum holds, also those behind the
// damage, and begins a new lineage with them, because the old chain cannot be continued. Orders that had not ended become
// unknown: whether they ran may be what was lost. The damaged files are kept in a folder beside the journal. A journal
// without damage is left alone; a torn tail is none. It fails with ErrLocked while an agent runs.
//
// What the agent does afterwards is safe without the lost records: a step without an end is settled by looking at the
// cluster, a guest without its ownership record needs an approval to be destroyed.
func Repair(dir string) (RepairReport, error) {
	d, err := openDisk(dir)
	if err != nil {
		return RepairReport{}, fmt.Errorf("repair journal: %w", err)
	}
	defer d.root.Close()
	lock, err := d.lock()
	if err != nil {
		return RepairReport{}, fmt.Errorf("repair journal: %w", err)
	}
	defer lock.Close()
	report, err := repair(d, time.Now())
	if err != nil {
		return report, fmt.Errorf("repair journal: %w", err)
	}
	return report, nil
}

func repair(d disk, now time.Time) (RepairReport, error) {
	names, err := d.list()
	if err != nil {
		return RepairReport{}, err
	}
	l := parseListing(names)
	r := replay{open: d.open, growing: l.growing(), visit: eachRecord(func(Record) error { return nil })}
	var report RepairReport
	if err := r.run(l); err == nil || !errors.As(err, &report.Damage) {
		return report, err
	}
	s, err := gatherRemains(d, l)
	if err != nil {
		return report, err
	}
	compacted, _ := parseName(l.base, baseSuffix)
	report.Kept, report.Lost = len(s.records), s.gaps(compacted)
	report.LostCompacted, report.LostBytes, report.Foreign = s.lostKept, s.lostBytes, s.foreign
	var records []Record
	records, report.Orders = s.closed(now.UTC().Round(0))

	report.Saved, err = setAside(d, l.all(), now, names)
	if err != nil {
		return report, err
	}
	return report, replaceAll(d, l.all(), records, now)
}

// closed returns the saved records and those that tell of the repair. The numbers of lost records are not used again.
func (s *salvage) closed(now time.Time) ([]Record, []string) {
	records := s.inOrder()
	f := newFold()
	for _, r := range records {
		f.add(r)
	}
	seq := s.last
	add := func(b Body) {
		seq++
		records = append(records, Record{Seq: seq, Time: now, Body: b})
	}
	add(Event{Name: EventRepaired, Message: fmt.Sprintf("continues %s with %d records; %d bytes were lost", s.lineage, len(s.records), s.lostBytes)})
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(f.orders.entries)) {
		o := f.orders.entries[key].is.Ordered
		if o.State.final() {
			continue
		}
		o.State = OrderUnknown
		unknown = append(unknown, key)
		add(o)
	}
	return records, unknown
}

// setAside keeps the files under a folder named for the time, or for the time and a number where that was taken.
func setAside(d disk, files []string, now time.Time, taken []string) (string, error) {
	stamp := "damaged-" + now.UTC().Format("20060102T150405Z")
	folder := stamp
	for i := 2; slices.Contains(taken, folder); i++ {
		folder = fmt.Sprintf("%s-%d", stamp, i)
	}
	if err := d.keep(files, folder); err != nil {
		return "", fmt.Errorf("keep damaged files in %s: %w", folder, err)
	}
	return folder, nil
}

// replaceAll installs a base of records in place of files. It stands for more than any of them, so a crash before the last
// of them is gone leaves files that Open removes.
func replaceAll(d disk, files []string, records []Record, now time.Time) error {
	next := records[len(records)-1].Seq + 1
	h := header{role: roleBase, chain: newChain(now, next)}
	f, err := writeFile(d, baseName(next-1), func(w io.WriterAt) error {
		return fillBase(w, &h, func(add func(frame) error) error {
			for _, r := range records {
				if err := addRecord(add, r); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	err = f.Close()
	for _, name := range files {
		err = errors.Join(err, d.remove(name))
	}
	return err
}
