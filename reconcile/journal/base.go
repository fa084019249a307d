package journal

import (
	"bufio"
	"io"
	"time"
)

// fillBase writes the commits that each adds, and then h with the number of records and the last link. An error of w is wrapped in
// visitError, because it is not damage.
func fillBase(w io.WriterAt, h *header, each func(add func(frame) error) error) error {
	out := bufio.NewWriterSize(io.NewOffsetWriter(w, headerSize), 1<<16)
	h.end = h.chain.link
	err := each(func(f frame) error {
		f = f.after(h.end)
		h.end = f.link
		h.kept += uint64(f.count) //nolint:gosec // not negative
		h.large = h.large || f.large()
		if _, err := out.Write(f.append(make([]byte, 0, f.size()))); err != nil {
			return visitError{err}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err = w.WriteAt(h.bytes(), 0)
	return err
}

// addRecords adds a commit of records without a gap between their numbers.
func addRecords(add func(frame) error, records []Record) error {
	f, err := frameOf(records)
	if err != nil {
		return err
	}
	return add(f)
}

// pruner selects the commits that compaction keeps: those with records that the state comes from, and the history, which is
// every commit from the first one on that is young enough and within the allowed number of records. The history has no holes, so if it
// contains a record that an earlier record is undone by, it is complete from there on.
type pruner struct {
	needed    map[uint64]bool // numbers of records
	cutoff    time.Time
	skip      int // records before the allowed number
	inHistory bool
}

// pick adds f unchanged, or only the needed records of f: each in a commit of its own, so that damage loses few, but records that share a large firewall in one. It does not decode a commit that is neither needed nor history.
func (p *pruner) pick(f frame, add func(frame) error) error {
	if p.skip -= f.count; p.skip < 0 && f.time >= p.cutoff.UnixNano() {
		p.inHistory = true
	}
	if p.inHistory {
		return add(f)
	}
	needed := false
	for seq := f.seq; seq <= f.last(); seq++ {
		needed = needed || p.needed[seq]
	}
	if !needed {
		return nil
	}
	records, err := f.records()
	if err != nil {
		return err
	}
	for from := 0; from < len(records); from++ {
		first := from
		if !p.needed[records[first].Seq] {
			continue
		}
		for from+1 < len(records) && p.needed[records[from+1].Seq] && shareFirewall(records[first], records[from+1]) {
			from++
		}
		if err := addRecords(add, records[first:from+1]); err != nil {
			return err
		}
	}
	return nil
}
