package intake

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/journal"
)

const floorCommit = "0123456789abcdef0123456789abcdef01234567"

func TestParseFloor(t *testing.T) {
	for name, want := range map[string]floor{
		"whole_seconds": {Commit: floorCommit, ProvenTime: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Sequence: 12},
		"fraction":      {Commit: floorCommit, ProvenTime: time.Date(2026, 3, 1, 12, 0, 0, 120_000_000, time.UTC), Sequence: 1},
		"zone":          {Commit: floorCommit, ProvenTime: time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("", 3600)), Sequence: 1 << 62},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseFloor(want.String())
			if err != nil || !got.ProvenTime.Equal(want.ProvenTime) || got.Commit != want.Commit || got.Sequence != want.Sequence {
				t.Errorf("got %+v, %v from %q, want %+v", got, err, want, want)
			}
		})
	}
}

// TestParseFloorRefuses checks that other text in the pool comment, also text that is similar to a floor, is not a floor.
func TestParseFloorRefuses(t *testing.T) {
	good := "gitops-agent floor 12 " + floorCommit + " 2026-03-01T12:00:00Z"
	if _, err := parseFloor(good); err != nil {
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
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parseFloor(comment); !errors.Is(err, errFloor) {
				t.Errorf("got %+v, %v from %q, want errFloor", got, err, comment)
			}
		})
	}
}

func TestFloorAbove(t *testing.T) {
	f := floor{Commit: gitsource.ID(floorCommit), Sequence: 5}
	for name, test := range map[string]struct {
		floor floor
		last  *journal.Accepted
		want  bool
	}{
		"no_state":     {f, nil, true},
		"older_state":  {f, &journal.Accepted{Sequence: 4}, true},
		"same":         {f, &journal.Accepted{Sequence: 5}, false},
		"newer_state":  {f, &journal.Accepted{Sequence: 6}, false},
		"no_floor":     {floor{}, nil, false},
		"neither_ever": {floor{}, &journal.Accepted{}, false},
	} {
		if got := test.floor.above(test.last); got != test.want {
			t.Errorf("%s: got above %t, want %t", name, got, test.want)
		}
	}
}

// FuzzParseFloor checks that the agent accepts only a floor that it would write itself.
func FuzzParseFloor(f *testing.F) {
	f.Add("gitops-agent floor 12 " + floorCommit + " 2026-03-01T12:00:00Z")
	f.Add("gitops-agent floor 1 " + floorCommit + " 2026-03-01T12:00:00.123456789Z")
	f.Add("gitops-agent floor 007 " + floorCommit + " 2026-03-01T12:00:00,5Z")
	f.Fuzz(func(t *testing.T, comment string) {
		got, err := parseFloor(comment)
		if err != nil {
			if !errors.Is(err, errFloor) || got != (floor{}) {
				t.Fatalf("got %+v, %v from %q, want no floor and errFloor", got, err, comment)
			}
			return
		}
		if got.String() != comment || got.Sequence == 0 {
			t.Errorf("got %q and sequence %d from %q, want the same text and a sequence", got, got.Sequence, comment)
		}
	})
}
