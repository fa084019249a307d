package journal

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// RepairReport is the result of Repair.
type RepairReport struct {
	Damage        *DamageError // the damage; nil if there was none, and then nothing was changed
	Saved         string       // folder in the journal's directory with the files as they were
	Kept          int          // records that were read
	Lost          []Gap        // records that could not be read
	LostCompacted int          // records of a base that could not be read
	LostBytes     int64
	Foreign       []string // files of another journal, which were moved to Saved
	Orders        []string // keys of the orders that had no final state: they are now unknown and must be signed again
}

// EventRepaired is the name of the Event that Repair records.
const EventRepaired = "journal_repaired"

// Repair makes a damaged journal usable again. It keeps every record whose own checksum is valid, also behind the damage, and starts a
// new lineage with these records, because the old chain cannot be continued. Orders without a final state become unknown: the lost
// records may state that they ran. The damaged files are kept in a folder beside the journal. Repair does not change a journal without
// damage; a torn tail is not damage. Repair returns ErrLocked while an agent runs.
//
// The agent stays safe without the lost records: it settles a step without an end by reading the cluster, and it needs an approval
// to destroy a guest without an ownership record.
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
	r := replay{open: d.open, active: l.active(), visit: eachRecord(func(Record) error { return nil })}
	var report RepairReport
	if err := r.run(l); err == nil || !errors.As(err, &report.Damage) {
		return report, err
	}
	s, err := salvageAll(d, l)
	if err != nil {
		return report, err
	}
	compacted, _ := parseName(l.base, baseSuffix)
	report.Kept, report.Lost = len(s.records), s.gaps(compacted)
	report.LostCompacted, report.LostBytes, report.Foreign = s.lostKept, s.lostBytes, s.foreign
	var records []Record
	records, report.Orders = s.withRepair(now.UTC().Round(0))

	report.Saved, err = setAside(d, l.all(), now, names)
	if err != nil {
		return report, err
	}
	return report, replaceAll(d, l.all(), records, now)
}

// withRepair returns the salvaged records and the records about the repair, and the keys of the orders that became unknown. The numbers
// of lost records are not used again.
func (s *salvage) withRepair(now time.Time) ([]Record, []string) {
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
		o := f.orders.entries[key].value.Ordered
		if o.State.final() {
			continue
		}
		o.State = OrderUnknown
		unknown = append(unknown, key)
		add(o)
	}
	return records, unknown
}

// setAside links the files into a folder that is named for the time, with a number if that name is taken, and returns the name.
func setAside(d disk, files []string, now time.Time, taken []string) (string, error) {
	stamp := "damaged-" + now.UTC().Format("20060102T150405Z")
	folder := stamp
	for i := 2; slices.Contains(taken, folder); i++ {
		folder = fmt.Sprintf("%s-%d", stamp, i)
	}
	if err := d.linkInto(files, folder); err != nil {
		return "", fmt.Errorf("keep damaged files in %s: %w", folder, err)
	}
	return folder, nil
}

// replaceAll writes a base of records and removes files. The base replaces all of them, so a crash before the last one is removed
// leaves files that Open removes.
func replaceAll(d disk, files []string, records []Record, now time.Time) error {
	next := records[len(records)-1].Seq + 1
	h := header{role: roleBase, chain: newChain(now, next)}
	f, err := writeFile(d, baseName(next-1), func(w io.WriterAt) error {
		return fillBase(w, &h, func(add func(frame) error) error {
			for _, r := range records {
				if err := addRecords(add, []Record{r}); err != nil {
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
