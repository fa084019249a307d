package gitsource

import "testing"

// The time of a commit is the committer's, and 0 if the header does not end in one.
func TestCommitted(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int64{
		"tree x\nauthor A <a@x> 1 +0000\ncommitter B <b@x> 1700000000 +0200\n\nm\n":              1700000000,
		"tree x\nauthor A <a@x> 1 +0000\ncommitter B <b@x> -5 +0000\nencoding x\n\nm\n":          -5,
		"tree x\nauthor A <a@x> 1 +0000\n\nquoted\ncommitter B <b@x> 7 +0000\n":                  0,
		"tree x\nauthor A <a@x> 1 +0000\ncommitter B <b@x> soon +0000\n\nm\n":                    0,
		"tree x\nauthor A <a@x> 1 +0000\ncommitter \n\nm\n":                                      0,
		"tree x\nauthor A <a@x> 1 +0000\ncommitter B <b@x> 99999999999999999999999 +0000\n\nm\n": 0,
		"": 0,
	} {
		if got := committed([]byte(raw)); got != want {
			t.Errorf("%q: got %d, want %d", raw, got, want)
		}
	}
}
