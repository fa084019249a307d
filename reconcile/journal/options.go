package journal

import "time"

// Options are the place and the retention of a journal. Only Dir is required.
type Options struct {
	Dir          string          // created with mode 0700 if it is missing
	SegmentSize  int64           // bytes after which the next segment begins; default 1 MiB
	CompactAfter int             // number of full segments that starts a compaction; default 8
	Retain       Retain          // history that compaction keeps in addition to the state
	OnRecord     func(Record)    // called for each durable record in order, by Open and then by the writer, with the rules of OnSync
	OnSync       func(Sync)      // called after each commit by the writer: it must be quick and must not call the journal
	OnCompact    func(Compacted) // called after each compaction by the writer, with the same rules
	Blocks       Blocks          // keeps the journal in a service; Dir then contains the lock of this host and the mark of what was acknowledged. nil: files in Dir
	Before       *Journal        // for Follow: the journal of this process before, whose state counts until the service was read; nil knows nothing
	disk         disk            // set by tests
	largePayload int             // bytes of a payload above which a commit needs a segment of version 2; set by tests
}

// Retain bounds the history that compaction keeps. Only Orders affects the State.
type Retain struct {
	Age     time.Duration // younger records are kept; default 90 days
	Records int           // at most this many of them are kept; default 50,000
	Orders  time.Duration // how long orders in a final state are kept; default 180 days, longer than any order stays valid
}

// Sync is the result of a commit.
type Sync struct {
	Records  int
	Bytes    int
	Duration time.Duration // of write and fsync
	Err      error         // why the journal stopped; nil if it did not
}

// Compacted is the result of a compaction. After an error the segments still exist and the next rotation tries again.
type Compacted struct {
	Kept, Dropped int // records
	Duration      time.Duration
	Err           error
}

func (o Options) withDefaults() Options {
	if o.SegmentSize <= 0 {
		o.SegmentSize = 1 << 20
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
	if o.largePayload <= 0 {
		o.largePayload = maxPayload
	}
	if o.OnRecord == nil {
		o.OnRecord = func(Record) {}
	}
	return o
}
