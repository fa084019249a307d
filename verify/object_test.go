package verify

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

const (
	treeLine    = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"
	parentLine  = "parent 1111111111111111111111111111111111111111\n"
	authorLines = "author A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\n"
	sigLines    = "gpgsig -----BEGIN SIGNED MESSAGE-----\n AAAA\n -----END SIGNED MESSAGE-----\n"
	sigText     = "-----BEGIN SIGNED MESSAGE-----\nAAAA\n-----END SIGNED MESSAGE-----\n"
)

func reasonOf(err error) Reason {
	var rejected *RejectedError
	if errors.As(err, &rejected) {
		return rejected.Reason
	}
	return ""
}

func TestSplitCommit(t *testing.T) {
	raw := treeLine + parentLine + authorLines + "encoding UTF-8\nmergetag object x\n type commit\n" + sigLines + "\nsubject\n\nbody\n"
	o, err := splitCommit([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(o.payload), strings.Replace(raw, sigLines, "", 1); got != want {
		t.Errorf("payload: got %q, want %q", got, want)
	}
	if got := string(o.signature); got != sigText {
		t.Errorf("signature: got %q, want %q", got, sigText)
	}
	if string(o.tree)+"\n" != treeLine[len("tree "):] || len(o.parents) != 1 || string(o.message) != "subject\n\nbody\n" {
		t.Errorf("got tree %s, parents %v, message %q", o.tree, o.parents, o.message)
	}
	if got, want := string(o.payload[:o.offset]), treeLine+parentLine+authorLines+"encoding UTF-8\nmergetag object x\n type commit\n"; got != want {
		t.Errorf("before the signature: got %q, want %q", got, want)
	}
}

// TestSplitCommitRefuses has the layouts that another reader of git objects could understand differently.
func TestSplitCommitRefuses(t *testing.T) {
	good := treeLine + parentLine + authorLines
	tests := map[string]struct {
		raw  string
		want Reason
	}{
		"tree_twice":               {treeLine + good + sigLines + "\nm\n", ReasonMalformed},
		"tree_after_committer":     {good + treeLine + sigLines + "\nm\n", ReasonMalformed},
		"tree_missing":             {parentLine + authorLines + sigLines + "\nm\n", ReasonMalformed},
		"parent_after_author":      {treeLine + "author A <a@x> 1 +0000\n" + parentLine + "committer A <a@x> 1 +0000\n" + sigLines + "\nm\n", ReasonMalformed},
		"parent_after_committer":   {good + parentLine + sigLines + "\nm\n", ReasonMalformed},
		"parent_first":             {parentLine + treeLine + authorLines + sigLines + "\nm\n", ReasonMalformed},
		"author_twice":             {treeLine + "author A <a@x> 1 +0000\n" + authorLines + sigLines + "\nm\n", ReasonMalformed},
		"committer_twice":          {good + "committer A <a@x> 1 +0000\n" + sigLines + "\nm\n", ReasonMalformed},
		"committer_missing":        {treeLine + "author A <a@x> 1 +0000\n" + sigLines + "\nm\n", ReasonMalformed},
		"committer_replaced":       {treeLine + "author A <a@x> 1 +0000\nencoding x\n" + sigLines + "\nm\n", ReasonMalformed},
		"committer_first":          {treeLine + "committer A <a@x> 1 +0000\nauthor A <a@x> 1 +0000\n\nm\n", ReasonMalformed},
		"signature_twice":          {good + sigLines + sigLines + "\nm\n", ReasonMalformed},
		"signature_before_author":  {treeLine + sigLines + authorLines + "\nm\n", ReasonMalformed},
		"signature_before_header":  {good + sigLines + "change-id x\n\nm\n", ReasonMalformed},
		"sha256_signature":         {good + "gpgsig-sha256 x\n" + sigLines + "\nm\n", ReasonMalformed},
		"encoding_twice":           {good + "encoding a\nencoding b\n" + sigLines + "\nm\n", ReasonMalformed},
		"tree_continued":           {treeLine + " x\n" + parentLine + authorLines + sigLines + "\nm\n", ReasonMalformed},
		"parent_continued":         {treeLine + parentLine + " x\n" + authorLines + sigLines + "\nm\n", ReasonMalformed},
		"author_continued":         {treeLine + "author A <a@x> 1 +0000\n x\ncommitter A <a@x> 1 +0000\n" + sigLines + "\nm\n", ReasonMalformed},
		"committer_continued":      {good + " x\n" + sigLines + "\nm\n", ReasonMalformed},
		"tree_short":               {"tree 4b825dc\n" + authorLines + sigLines + "\nm\n", ReasonMalformed},
		"tree_upper_case":          {strings.ToUpper(treeLine[5:]) + authorLines + "\nm\n", ReasonMalformed},
		"parent_not_an_id":         {treeLine + "parent x\n" + authorLines + "\nm\n", ReasonMalformed},
		"nul_in_header":            {treeLine + "author A\x00 <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\n\nm\n", ReasonMalformed},
		"nul_in_signature":         {good + "gpgsig x\n y\x00\n\nm\n", ReasonMalformed},
		"starts_with_continuation": {" x\n" + good + "\nm\n", ReasonMalformed},
		"header_without_value":     {good + "note\n\nm\n", ReasonMalformed},
		"many_headers":             {good + strings.Repeat("note x\n", maxHeaders) + "\nm\n", ReasonMalformed},
		"no_empty_line":            {good + sigLines, ReasonMalformed},
		"empty":                    {"", ReasonMalformed},
		"too_large":                {good + "\n" + strings.Repeat("x", maxObject), ReasonTooLarge},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := splitCommit([]byte(tt.raw)); reasonOf(err) != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestSplitTag(t *testing.T) {
	head := "object 1111111111111111111111111111111111111111\ntype commit\ntag v1\ntagger A <a@x> 1 +0000\n\nrelease\n"
	o, err := splitTag([]byte(head + sigText))
	if err != nil {
		t.Fatal(err)
	}
	if string(o.payload) != head || string(o.signature) != sigText || string(o.message) != "release\n" {
		t.Errorf("got payload %q, signature %q, message %q", o.payload, o.signature, o.message)
	}
	if unsigned, err := splitTag([]byte(head)); err != nil || len(unsigned.signature) != 0 || string(unsigned.payload) != head {
		t.Errorf("without signature: got %+v, %v, want the whole tag as payload", unsigned, err)
	}
	for name, raw := range map[string]string{
		"two_signatures": head + sigText + sigText,
		"extra_header":   strings.Replace(head, "\n\n", "\ngpgsig x\n\n", 1),
		"tagger_missing": strings.Replace(head, "tagger A <a@x> 1 +0000\n", "", 1),
		"wrong_order":    strings.Replace(head, "type commit\ntag v1", "tag v1\ntype commit", 1),
		"continued":      strings.Replace(head, "tag v1", "tag v1\n x", 1),
		"no_object_id":   strings.Replace(head, "object 1111", "object 111", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := splitTag([]byte(raw)); reasonOf(err) != ReasonMalformed {
				t.Errorf("got %v, want %s", err, ReasonMalformed)
			}
		})
	}
}

// FuzzSplitCommit: the parts of an accepted commit join to the same bytes, so the signature covers the whole commit.
func FuzzSplitCommit(f *testing.F) {
	f.Add([]byte(treeLine + parentLine + authorLines + sigLines + "\nsubject\n"))
	f.Add([]byte(treeLine + authorLines + "encoding x\nmergetag a\n b\n" + sigLines + "\n"))
	f.Add([]byte(treeLine + authorLines + "\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var o object
		var err error
		requireBounded(t, 16*len(raw), func() { o, err = splitCommit(raw) })
		if err != nil {
			return
		}
		var again bytes.Buffer
		again.Write(o.payload[:o.offset])
		if len(o.signature) > 0 {
			folded := bytes.ReplaceAll(bytes.TrimSuffix(o.signature, []byte("\n")), []byte("\n"), []byte("\n "))
			again.WriteString("gpgsig " + string(folded) + "\n")
		}
		again.Write(o.payload[o.offset:])
		if !bytes.Equal(again.Bytes(), raw) {
			t.Errorf("got %q, want %q", again.Bytes(), raw)
		}
		if !bytes.HasSuffix(raw, o.message) {
			t.Errorf("message %q does not end the commit", o.message)
		}
	})
}
