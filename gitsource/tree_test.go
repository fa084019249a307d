package gitsource

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

const someID = ID("0123456789abcdef0123456789abcdef01234567")

// appendEntry appends e in the encoding of a tree object.
func appendEntry(raw []byte, e entry) []byte {
	h := e.id.hash()
	raw = append(raw, e.mode+" "+e.name+"\x00"...)
	return append(raw, h[:]...)
}

func TestParseTreeRefuses(t *testing.T) {
	file := func(mode, name string) []byte { return appendEntry(nil, entry{mode, name, someID}) }
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"no_mode":         {[]byte("100644"), "mode is missing"},
		"zero_padded":     {file("040000", "a"), "mode"},
		"group_writable":  {file("100664", "a"), "mode"},
		"device":          {file("20666", "a"), "mode"},
		"empty_name":      {file(modeFile, ""), "empty"},
		"slash":           {file(modeFile, "a/b"), "slash"},
		"no_id":           {[]byte("100644 a\x00"), "truncated"},
		"id_cut":          {file(modeFile, "a")[:20], "truncated"},
		"no_nul":          {[]byte("100644 a"), "truncated"},
		"order":           {append(file(modeFile, "b"), file(modeFile, "a")...), "out of order"},
		"twice":           {append(file(modeFile, "a"), file(modeFile, "a")...), "out of order"},
		"dir_order":       {append(file(modeDir, "a"), file(modeFile, "a.b")...), "out of order"},
		"file_and_dir":    {append(append(file(modeFile, "a"), file(modeFile, "a.b")...), file(modeDir, "a")...), "twice"},
		"trailing_garble": {append(file(modeFile, "a"), 'x'), "mode is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseTree(test.raw); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestParseTreeIsBounded: a tree with more entries than the agent reads ends before it takes memory, and is not called malformed.
func TestParseTreeIsBounded(t *testing.T) {
	var raw []byte
	for n := range maxEntries + 1 {
		raw = appendEntry(raw, entry{modeFile, fmt.Sprintf("%06d", n), someID})
	}
	if entries, err := parseTree(raw); !errors.Is(err, ErrTooLarge) || entries != nil {
		t.Errorf("got %d entries and %v, want ErrTooLarge", len(entries), err)
	}
	if entries, err := parseTree(raw[:len(raw)*maxEntries/(maxEntries+1)]); err != nil || len(entries) != maxEntries {
		t.Errorf("got %d entries and %v, want %d", len(entries), err, maxEntries)
	}
}

// FuzzParseTree: an accepted tree serialises to the same bytes, no accepted name can leave its folder, and the memory is
// bounded by the size of the input.
func FuzzParseTree(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendEntry(appendEntry(nil, entry{modeFile, "a.b", someID}), entry{modeDir, "a", someID}))
	f.Add(appendEntry(nil, entry{modeSymlink, "..", someID}))
	f.Add([]byte("100644 a\x00"))
	var many []byte
	for n := range 20_000 { // the shortest names in ascending order
		many = appendEntry(many, entry{modeDir, fmt.Sprintf("%05d", n), someID})
	}
	f.Add(many)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		entries, err := parseTree(raw)
		runtime.ReadMemStats(&after)
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(64*len(raw)+1<<20); got > limit {
			t.Errorf("got %d bytes allocated for %d, want at most %d", got, len(raw), limit)
		}
		if err != nil {
			return
		}
		var again []byte
		for _, e := range entries {
			again = appendEntry(again, e)
			if fileProblem(e) == "" && (!utf8.ValidString(e.name) || strings.ContainsAny(e.name, "/\\\x00")) {
				t.Errorf("name %q passes", e.name)
			}
		}
		if !bytes.Equal(again, raw) {
			t.Errorf("got %q again, want %q", again, raw)
		}
	})
}
