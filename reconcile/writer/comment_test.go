package writer

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/journal"
)

const floorCommit = "0123456789abcdef0123456789abcdef01234567"

func TestParseFloor(t *testing.T) {
	for name, want := range map[string]Floor{
		"whole_seconds": {Commit: floorCommit, ProvenTime: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Sequence: 12},
		"fraction":      {Commit: floorCommit, ProvenTime: time.Date(2026, 3, 1, 12, 0, 0, 120_000_000, time.UTC), Sequence: 1},
		"zone":          {Commit: floorCommit, ProvenTime: time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("", 3600)), Sequence: 1 << 62},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse(Comment{Floor: want}.String())
			got := c.Floor
			if err != nil || !got.ProvenTime.Equal(want.ProvenTime) || got.Commit != want.Commit || got.Sequence != want.Sequence {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

// TestCommentIsReadBack checks a comment with a writer, and that its length does not depend on the cluster.
func TestCommentIsReadBack(t *testing.T) {
	want := Comment{
		Floor:  Floor{Commit: floorCommit, ProvenTime: time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC), Sequence: 1<<63 - 1},
		Writer: Mark{Number: 1<<63 - 1, Nonce: "ABCDEFGHIJKLMNOP"},
	}
	text := want.String()
	if got, err := Parse(text); err != nil || got != want {
		t.Errorf("got %+v, %v from %q, want %+v", got, err, text, want)
	}
	if len(text) > 160 || strings.ContainsAny(text, "%\n") {
		t.Errorf("got %q with %d bytes, want at most 160 that Proxmox returns unchanged", text, len(text))
	}
}

// TestParseRefuses checks that other text in the pool comment, also text that is similar to the agent's, is refused.
func TestParseRefuses(t *testing.T) {
	good := "gitops-agent floor 12 " + floorCommit + " 2026-03-01T12:00:00Z"
	if _, err := Parse(good); err != nil {
		t.Fatal(err)
	}
	for name, comment := range map[string]string{
		"empty":           "",
		"words":           "do not touch",
		"no_time":         strings.TrimSuffix(good, " 2026-03-01T12:00:00Z"),
		"more":            good + " and more",
		"line_after":      good + "\n",
		"line_before":     "\n" + good,
		"sequence_zero":   strings.Replace(good, " 12 ", " 0 ", 1),
		"sequence_padded": strings.Replace(good, " 12 ", " 012 ", 1),
		"sequence_minus":  strings.Replace(good, " 12 ", " -1 ", 1),
		"sequence_large":  strings.Replace(good, " 12 ", " 99999999999999999999 ", 1),
		"short_commit":    strings.Replace(good, floorCommit, floorCommit[:39], 1),
		"capital_commit":  strings.Replace(good, floorCommit, strings.ToUpper(floorCommit), 1),
		"no_such_day":     strings.Replace(good, "-03-01T", "-02-30T", 1),
		"other_zone":      strings.Replace(good, "12:00:00Z", "13:00:00+01:00", 1),
		"zeros_in_time":   strings.Replace(good, "00Z", "00.500Z", 1),
		"writer_zero":     good + " writer 0 ABCDEFGHIJKLMNOP",
		"writer_padded":   good + " writer 03 ABCDEFGHIJKLMNOP",
		"writer_large":    good + " writer 99999999999999999999 ABCDEFGHIJKLMNOP",
		"no_nonce":        good + " writer 3",
		"short_nonce":     good + " writer 3 ABCDEFGHIJKLMNO",
		"long_nonce":      good + " writer 3 ABCDEFGHIJKLMNOPQ",
		"small_nonce":     good + " writer 3 abcdefghijklmnop",
		"two_blanks":      good + "  writer 3 ABCDEFGHIJKLMNOP",
		"writer_alone":    "gitops-agent writer 3 ABCDEFGHIJKLMNOP",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Parse(comment); !errors.Is(err, ErrComment) {
				t.Errorf("got %+v, %v from %q, want ErrComment", got, err, comment)
			}
		})
	}
}

func TestFloorAbove(t *testing.T) {
	f := Floor{Commit: floorCommit, Sequence: 5}
	for name, test := range map[string]struct {
		floor Floor
		last  *journal.Accepted
		want  bool
	}{
		"no_state":     {f, nil, true},
		"older_state":  {f, &journal.Accepted{Sequence: 4}, true},
		"same":         {f, &journal.Accepted{Sequence: 5}, false},
		"newer_state":  {f, &journal.Accepted{Sequence: 6}, false},
		"no_floor":     {Floor{}, nil, false},
		"neither_ever": {Floor{}, &journal.Accepted{}, false},
	} {
		if got := test.floor.Above(test.last); got != test.want {
			t.Errorf("%s: got above %t, want %t", name, got, test.want)
		}
	}
}

// FuzzParse checks that the agent accepts only a comment that it would write itself.
func FuzzParse(f *testing.F) {
	f.Add("gitops-agent floor 12 " + floorCommit + " 2026-03-01T12:00:00Z")
	f.Add("gitops-agent floor 1 " + floorCommit + " 2026-03-01T12:00:00.123456789Z")
	f.Add("gitops-agent floor 12 " + floorCommit + " 2026-03-01T12:00:00Z writer 3 ABCDEFGHIJKLMNOP")
	f.Add("gitops-agent floor 007 " + floorCommit + " 2026-03-01T12:00:00,5Z")
	f.Fuzz(func(t *testing.T, comment string) {
		got, err := Parse(comment)
		if err != nil {
			if !errors.Is(err, ErrComment) || got != (Comment{}) {
				t.Fatalf("got %+v, %v from %q, want no comment and ErrComment", got, err, comment)
			}
			return
		}
		if got.String() != comment || got.Floor.Sequence == 0 {
			t.Errorf("got %q and sequence %d from %q, want the same text and a sequence", got, got.Floor.Sequence, comment)
		}
	})
}
