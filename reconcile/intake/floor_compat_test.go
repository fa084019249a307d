package intake

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/writer"
)

var updateCompat = flag.Bool("update-compat", false, "rewrite the expected floors; only the code that wrote the pool comments may do that")

// olderFloor is a pool comment that an older version wrote, and what that version reads from it.
type olderFloor struct {
	Comment    string       `json:"comment"`
	Sequence   uint64       `json:"sequence"`
	Commit     gitsource.ID `json:"commit"`
	ProvenTime time.Time    `json:"provenTime"`
}

// TestParsesOlderPoolComments reads the pool comments of older versions to exactly the floors that these versions read.
func TestParsesOlderPoolComments(t *testing.T) {
	paths, err := filepath.Glob("testdata/v*/pool-comments.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d files of pool comments, %v, want some", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var floors []olderFloor
		if err := json.Unmarshal(data, &floors); err != nil {
			t.Fatal(err)
		}
		if len(floors) < 9 {
			t.Errorf("got %d pool comments in %s, want 9 or more", len(floors), path)
		}
		for i, want := range floors {
			c, err := writer.Parse(want.Comment)
			got := c.Floor
			if err != nil {
				t.Errorf("%q: %v", want.Comment, err)
				continue
			}
			if *updateCompat {
				floors[i] = olderFloor{want.Comment, got.Sequence, gitsource.ID(got.Commit), got.ProvenTime}
				continue
			}
			if (olderFloor{want.Comment, got.Sequence, gitsource.ID(got.Commit), got.ProvenTime}) != want || c.String() != want.Comment {
				t.Errorf("got %+v from %q, want %+v", got, want.Comment, want)
			}
		}
		if *updateCompat {
			out, err := json.MarshalIndent(floors, "", "\t")
			if err == nil {
				err = os.WriteFile(path, append(out, '\n'), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestOlderJournalsAgreeWithTheirPoolComments compares each journal that the engine of an older version left with the pool comment of
// the same moment: the comment is the floor of the revision that the journal names as accepted.
func TestOlderJournalsAgreeWithTheirPoolComments(t *testing.T) {
	comments, err := filepath.Glob("../journal/testdata/v*/engine_*/pool-comment.txt")
	if err != nil || len(comments) == 0 {
		t.Fatalf("got %d pool comments, %v, want some", len(comments), err)
	}
	for _, path := range comments {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			comment, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { // the journals were written in bubbles
				state, err := journal.ReadState(filepath.Join(filepath.Dir(path), "journal"))
				if err != nil {
					t.Fatal(err)
				}
				c, err := writer.Parse(string(comment))
				got := c.Floor
				if want := writer.FloorOf(*state.Accepted); err != nil || got != want {
					t.Errorf("got %+v, %v from the pool comment, want the journal's %+v", got, err, want)
				}
				if got.Above(state.Accepted) {
					t.Errorf("got a floor above the accepted revision, want the same")
				}
			})
		})
	}
}
