package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/gitsource/packs"
)

const someID = "0123456789012345678901234567890123456789"

// said is a session with a remote that says what the test says: first the text refs, then one reply to each request.
type said struct {
	first    io.Reader
	replies  []io.Reader
	requests []string
}

func (s *said) refs(context.Context) (io.Reader, error) { return s.first, nil }
func (s *said) End() string                             { return "" }

func (s *said) send(_ context.Context, request []byte, _ bool) (io.Reader, error) {
	s.requests = append(s.requests, string(request))
	if len(s.replies) == 0 {
		return nil, errors.New("no more replies")
	}
	next := s.replies[0]
	s.replies = s.replies[1:]
	return next, nil
}

// lines are packets with a line each, and an end.
func lines(texts ...string) string {
	var out []byte
	for _, text := range texts {
		out = appendPacket(out, "%s\n", text)
	}
	return string(out) + flushPacket
}

// endless is packets without end, each with another line.
type endless struct {
	line func(n int) string
	n    int
	left bytes.Buffer
}

func (e *endless) Read(p []byte) (int, error) {
	for e.left.Len() < len(p) {
		e.left.Write(appendPacket(nil, "%s\n", e.line(e.n)))
		e.n++
	}
	return e.left.Read(p)
}

func otherBranch(n int) string { return fmt.Sprintf("%s refs/heads/other-%d", someID, n) }

// TestReadRefsBounds reads lists of refs that do not end, in both versions. Few refs are kept.
func TestReadRefsBounds(t *testing.T) {
	t.Parallel()
	v2 := strings.NewReader(lines("version 2", "ls-refs", "fetch"))
	for name, s := range map[string]*said{
		"version_0":    {first: &endless{line: otherBranch}},
		"version_2":    {first: v2, replies: []io.Reader{&endless{line: otherBranch}}},
		"capabilities": {first: io.MultiReader(strings.NewReader("000eversion 2\n"), &endless{line: func(n int) string { return fmt.Sprintf("x-%d", n) }})},
		"long_names":   {first: &endless{line: func(n int) string { return otherBranch(n) + strings.Repeat("x", 60_000) }}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := ReadRefs(t.Context(), s, "refs/heads/main"); !errors.Is(err, packs.ErrTooLarge) {
				t.Errorf("got error %v, want ErrTooLarge", err)
			}
		})
	}
}

// TestReadRefsKeepsFew reads the list of a repository with many refs from a server that speaks version 0 alone.
func TestReadRefsKeepsFew(t *testing.T) {
	t.Parallel()
	const many = 50_000
	var list []byte
	list = appendPacket(list, "%s HEAD\x00ofs-delta side-band-64k\n", someID)
	for n := range many {
		list = appendPacket(list, "%s\n", otherBranch(n))
	}
	list = appendPacket(list, "%s refs/heads/main\n", someID)
	a, err := ReadRefs(t.Context(), &said{first: strings.NewReader(string(list) + flushPacket)}, "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	if h, err := a.Branch("main"); err != nil || h != plumbing.NewHash(someID) {
		t.Errorf("got %s, error %v, want %s", h, err, someID)
	}
	if got := len(a.Refs); got > maxOthers+1 {
		t.Errorf("got %d refs in memory, want at most %d", got, maxOthers+1)
	}
	if _, err := a.Branch("none"); err == nil || !strings.Contains(err.Error(), "more than 994 more") {
		t.Errorf("got error %v, want that there are many others", err)
	}
}

// TestReadRefsAsksForTheBranch asks a server of version 2, and for other branches only if the branch is missing.
func TestReadRefsAsksForTheBranch(t *testing.T) {
	t.Parallel()
	v2 := lines("version 2", "ls-refs=unborn", "fetch=shallow", "object-format=sha1")
	s := &said{first: strings.NewReader(v2), replies: []io.Reader{strings.NewReader(lines(someID+" refs/heads/main", someID+" refs/heads/main-2"))}}
	a, err := ReadRefs(t.Context(), s, "refs/heads/main", "", "refs/notes/commits")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Branch("main"); err != nil {
		t.Error(err)
	}
	want := "0014command=ls-refs\n" + "0001" + "001fref-prefix refs/heads/main\n" + "0022ref-prefix refs/notes/commits\n" + "0000"
	if len(s.requests) != 1 || s.requests[0] != want {
		t.Errorf("got requests %q, want %q", s.requests, want)
	}
	s = &said{first: strings.NewReader(v2), replies: []io.Reader{strings.NewReader(lines()), strings.NewReader(lines(someID+" refs/heads/dev", someID+" refs/tags/main peeled:"+someID))}}
	if a, err = ReadRefs(t.Context(), s, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Branch("main"); err == nil || !strings.Contains(err.Error(), "it has dev; a tag has this name") {
		t.Errorf("got error %v, want what there is", err)
	}
}

// TestReadRefsRefuses reads replies that no repository with SHA-1 sends.
func TestReadRefsRefuses(t *testing.T) {
	t.Parallel()
	v2 := lines("version 2", "fetch")
	for name, test := range map[string]struct {
		s    *said
		want string
	}{
		"nothing":    {&said{first: strings.NewReader("")}, "the remote sent nothing"},
		"cut":        {&said{first: strings.NewReader("003")}, "EOF"},
		"empty":      {&said{first: strings.NewReader(lines("0000000000000000000000000000000000000000 capabilities^{}\x00ofs-delta"))}, "the remote repository is empty"},
		"empty_v2":   {&said{first: strings.NewReader(v2), replies: []io.Reader{strings.NewReader(lines()), strings.NewReader(lines()), strings.NewReader(lines())}}, "the remote repository is empty"},
		"sha256":     {&said{first: strings.NewReader(lines(someID + " HEAD\x00object-format=sha256"))}, "SHA-256 repository"},
		"sha256_v2":  {&said{first: strings.NewReader(lines("version 2", "object-format=sha256"))}, "SHA-256 repository"},
		"no_packet":  {&said{first: strings.NewReader("<html>")}, "got a packet that begins with"},
		"no_ref":     {&said{first: strings.NewReader(lines("hello"))}, `got the line "hello"`},
		"no_ref_v2":  {&said{first: strings.NewReader(v2), replies: []io.Reader{strings.NewReader(lines("hello"))}}, `got the line "hello"`},
		"error":      {&said{first: strings.NewReader(lines("ERR no such repository"))}, "the remote reports: no such repository"},
		"cut_in_ref": {&said{first: strings.NewReader("0100" + someID)}, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadRefs(t.Context(), test.s, "refs/heads/main")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
}

// TestRequestPack reads the pack in both versions, with and without streams.
func TestRequestPack(t *testing.T) {
	t.Parallel()
	band := func(n byte, text string) string { return string(appendPacket(nil, "%c%s", n, text)) }
	id := plumbing.NewHash(someID)
	for name, test := range map[string]struct {
		first, reply, want string
		bad                string
	}{
		"version_0":   {first: lines(someID + " refs/heads/main\x00ofs-delta"), reply: "0008NAK\nPACK and more", want: "PACK and more"},
		"two_answers": {first: lines(someID + " refs/heads/main\x00"), reply: "0031ACK " + someID + "\n0031ACK " + someID + "\nPACK", want: "PACK"},
		"streams":     {first: lines(someID + " refs/heads/main\x00side-band-64k"), reply: "0008NAK\n" + band(2, "x") + band(1, "PA") + band(1, "CK") + "0000", want: "PACK"},
		"version_2":   {first: lines("version 2"), reply: "000dpackfile\n" + band(1, "PACK") + band(2, "done") + "0000", want: "PACK"},
		"shallow":     {first: lines("version 2"), reply: "0011shallow-info\n" + "0035shallow " + someID + "\n0001000dpackfile\n" + band(1, "PACK") + "0000", want: "PACK"},
		"error":       {first: lines("version 2"), reply: lines("ERR not our ref"), bad: "the remote reports: not our ref"},
		"stream_3":    {first: lines("version 2"), reply: "000dpackfile\n" + band(3, "broken"), bad: "the remote reports: broken"},
		"cut":         {first: lines("version 2"), reply: "000dpackfile\n" + band(1, "PA"), bad: "unexpected EOF"},
		"answers":     {first: lines(someID + " refs/heads/main\x00"), reply: strings.Repeat("0008NAK\n", 100), bad: "repeats its answers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &said{first: strings.NewReader(test.first), replies: []io.Reader{strings.NewReader(test.reply)}}
			if strings.Contains(test.first, "version 2") {
				s.replies = append([]io.Reader{strings.NewReader(lines(someID + " refs/heads/main"))}, s.replies...)
			}
			a, err := ReadRefs(t.Context(), s, "refs/heads/main")
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			pack, err := RequestPack(t.Context(), s, a, id, nil)
			if err == nil {
				got, err = io.ReadAll(pack)
			}
			if test.bad != "" {
				if err == nil || !strings.Contains(err.Error(), test.bad) {
					t.Errorf("got %q, error %v, want %q", got, err, test.bad)
				}
				return
			}
			if err != nil || string(got) != test.want {
				t.Errorf("got %q, error %v, want %q", got, err, test.want)
			}
		})
	}
}
