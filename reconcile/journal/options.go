package journal

import "time"

// Options say where a journal is kept and how long. Only Dir is required.
type Options struct {
	Dir          string          // made with mode 0700 where it is missing
	SegmentSize  int64           // bytes after which the next segment begins; default 4 MiB
	CompactAfter int             // full segments after which they are compacted; default 8
	Retain       Retain          // what compaction keeps beyond the state
	OnSync       func(Sync)      // called after each commit, from the writer: it must be quick and must not call the journal
	OnCompact    func(Compacted) // called after each compaction, likewise
	disk         disk            // the tests' own
}

// Retain bounds the history that compaction keeps. State never depends on it, Orders excepted.
type Retain struct {
	Age     time.Duration // records younger than this are kept; default 90 days
	Records int           // but at most so many of them; default 50,000
	Orders  time.Duration // orders that ended are remembered so long; default 180 days, longer than any order stays valid
}

// Sync tells how a commit went.
type Sync struct {
	Records  int
	Bytes    int
	Duration time.Duration // of write and fsync
	Err      error         // the reason why the journal stopped, if it did
}

// Compacted tells how a compaction went. After an error the segments are still there and the next rotation tries again.
type Compacted struct {
	Kept, Dropped int // records
	Duration      time.Duration
	Err           error
}

func (o Options) withDefaults() Options {
	if o.SegmentSize <= 0 {
		o.SegmentSize = 4 << 20
	}
	if o.CompactAfter <= 0 {
		o.CompactAfter = 8
	}
	if o.Retain.Age <= 0 {
		o.Retain.Age = 90 * 24 * time.Hour
	}
	if o.Retain.Records <= 0 {
		o.Retain.Records = 50_000
	}
	if o.Retain.Orders <= 0 {
		o.Retain.Orders = 180 * 24 * time.Hour
	}
	return o
}
