package gitsource

import (
	"strings"
	"testing"
)

func TestParseID(t *testing.T) {
	for s, want := range map[string]string{
		string(someID):                         "",
		strings.ToUpper(string(someID)):        "want 40",
		string(someID[:39]):                    "want 40",
		string(someID) + "0":                   "want 40",
		strings.Repeat("0", 64):                "SHA-256",
		"":                                     "want 40",
		"HEAD":                                 "want 40",
		string(someID[:39]) + "g":              "want 40",
		" " + string(someID[:39]):              "want 40",
		string(someID[:38]) + "\xc3\xa9":       "want 40",
		"refs/heads/" + string(someID[:40-11]): "want 40",
		strings.Repeat("G", 64):                "want 40",
		string(someID[:20]) + "\x00" + "0123456789012345678": "want 40",
	} {
		id, err := ParseID(s)
		if want == "" {
			if err != nil || string(id) != s {
				t.Errorf("ParseID(%q): got %q, %v, want the same text", s, id, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || id != "" {
			t.Errorf("ParseID(%q): got %q, %v, want an error with %q", s, id, err, want)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add(string(someID))
	f.Add("ABCDEF")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err == nil && id.hash().String() != s {
			t.Errorf("ParseID(%q): names %s", s, id.hash())
		}
	})
}
