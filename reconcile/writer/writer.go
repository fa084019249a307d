package writer

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"gitops-agent/reconcile/journal"
)

const (
	// claimWait is how long a process waits after its claim before it reads the comment again.
	claimWait = 3 * time.Second
	// Recent is how old the newest reading of the comment may be for a call that neither creates nor interrupts nor destroys. It is less than
	// claimWait: when the wait of a new writer ends, no call of the earlier one is sent any more.
	Recent = 2 * time.Second
	// slowWrite is how long a write of the comment may take, from the reading before it, without another wait.
	slowWrite = time.Second
)

// Keeper stores the comment of a Proxmox pool.
type Keeper interface {
	// PoolComment returns the comment of a pool, or false if the pool does not exist.
	PoolComment(ctx context.Context, pool string) (comment string, found bool, err error)
	// SetPoolComment writes the comment of a pool, and creates the pool if it does not exist.
	SetPoolComment(ctx context.Context, pool, comment string) error
}

// Options configures a Writer. Journal is required.
type Options struct {
	Keeper   Keeper // nil stores no comment: then every process is the writer
	Journal  *journal.Journal
	Wait     time.Duration // after a claim, before the comment is read again; 0 is 3 s
	TakeOver bool          // the first claim also replaces another agent
	DryRun   bool          // read the comment without an opinion on the writer, and write nothing
	Log      *slog.Logger  // nil logs nothing
}

// Standing is the relation of this process to the comment.
type Standing int

// The standings. Only a confirmed process may write.
const (
	Unclaimed  Standing = iota // this process has not claimed yet, or somebody removed its mark from the comment
	Claimed                    // the comment has its mark, and the wait has not ended
	Confirmed                  // the comment had its mark after the wait, and at every reading since
	Superseded                 // another agent has claimed; only another process, with TakeOver, can change that
)

// Writer is the claim of this process on the cluster, and the owner of the comment. It is safe for concurrent use.
type Writer struct {
	opts  Options
	nonce string
	turn  chan struct{} // holds one value while a goroutine uses the comment

	mu       sync.Mutex
	standing Standing
	mark     Mark // of this process; zero before its first claim
	other    Mark // of the agent that superseded this process
	takeOver bool
	waitEnds time.Time // while Claimed

	begun   uint64 // readings of the comment that have begun
	shown   uint64 // the newest of them that showed the mark of this process
	shownAt time.Time
	readAt  time.Time // when the newest reading began
}

// New returns a writer that has not claimed yet.
func New(opts Options) *Writer {
	if opts.Wait == 0 {
		opts.Wait = claimWait
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	standing := Unclaimed
	if opts.Keeper == nil {
		standing = Confirmed
	}
	return &Writer{opts: opts, standing: standing, nonce: rand.Text()[:16], turn: make(chan struct{}, 1), takeOver: opts.TakeOver}
}

// State is a writer at one moment.
type State struct {
	Standing Standing
	Mark     Mark      // of this process; zero before its first claim
	Other    Mark      // of the agent that superseded this process
	WaitEnds time.Time // while Claimed
	TakeOver bool      // the next claim replaces another agent
	ReadAt   time.Time // when the newest reading of the comment began; zero before the first, and without a Keeper
}

// State returns the present state.
func (w *Writer) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return State{w.standing, w.mark, w.other, w.waitEnds, w.takeOver, w.readAt}
}

// begin waits until no other goroutine uses the comment.
func (w *Writer) begin(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Writer) end() { <-w.turn }
