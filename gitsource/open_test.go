package gitsource

import (
	"strings"
	"testing"
)

func TestOpenReportsEveryProblem(t *testing.T) {
	_, err := Open(Options{Branch: "-x..", Timeout: -1, Remotes: []Remote{{URL: "ftp://x"}, {URL: "https://a:s3cret@b/c"}}})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"directory is required", "not a valid branch name", "negative", "remote 1: unknown scheme", "remote 2: credentials"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if _, err := Open(Options{Dir: t.TempDir(), Branch: "main"}); err == nil || !strings.Contains(err.Error(), "at least one remote is required") {
		t.Errorf("got %v, want no remote", err)
	}
}
