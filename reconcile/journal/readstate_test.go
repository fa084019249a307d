package journal_test

import (
	"errors"
	"io/fs"
	"testing"

	"gitops-agent/reconcile/journal"

	"github.com/google/go-cmp/cmp"
)

func TestReadStateBesideTheAgent(t *testing.T) {
	dir := t.TempDir()
	j, err := journal.Open(journal.Options{Dir: dir})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = j.Close() })
	err = j.Append(t.Context(),
		journal.Accepted{Commit: "3f2a1c9", Sequence: 1},
		journal.Assigned{Kind: "VirtualMachine", Name: "web-1", VMID: 201},
		journal.Owned{VMID: 201, Kind: "VirtualMachine", Name: "web-1", Identity: "a", Tag: "gitops-00000000", Origin: journal.Created},
		journal.Ordered{Key: "k:0", Order: "approve x", State: journal.OrderSeen},
		journal.Begun{Step: "s", VMID: 201, Op: "config"},
	)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	got, err := journal.ReadState(dir)
	if err != nil {
		t.Fatalf("read state: %v", err)
	}
	if diff := cmp.Diff(j.State(), got); diff != "" {
		t.Errorf("got another state than the agent's (-agent +read):\n%s", diff)
	}
	if len(got.Open) != 1 || got.Accepted == nil || got.Owned[201].Identity != "a" {
		t.Errorf("got %+v, want what was appended", got)
	}
}

func TestReadStateWithoutJournal(t *testing.T) {
	if _, err := journal.ReadState(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}
