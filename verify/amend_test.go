package verify_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"gitops-agent/verify"
)

// A refusal for the target has a command only where git then makes a message that is accepted.
func TestWrongTargetHasCommand(t *testing.T) {
	t.Parallel()
	const trailer = "Gitops-Target: lab/main"
	tests := map[string]struct {
		message string
		want    bool
	}{
		"absent":          {"change", true},
		"paragraphs":      {"change\n\nmore memory", true},
		"other_trailer":   {"change\n\nSigned-off-by: Alice <alice@lab.test>", true},
		"other_cluster":   {"change\n\nGitops-Target: home/main", true},
		"other_branch":    {"change\n\nGitops-Target: lab/feature", false},
		"in_prose":        {"change\n\nthis is for\n" + trailer, false},
		"not_last":        {"change\n\n" + trailer + "\n\nand more", false},
		"cherry_picked":   {"change\n\nfrom there\n(cherry picked from commit 12)", false},
		"prose_in_signed": {"change\n\nand more\nSigned-off-by: Alice <alice@lab.test>", false},
		"most_targets":    {trailers(clusters(16)...), false},
		"no_message":      {"\n", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestHistory(t)
			d := s.on(s.next)
			d.message = tt.message
			_, err := s.bound("lab").Check(t.Context(), s.repo, s.commit(d), s.base)
			var rejected *verify.RejectedError
			if !errors.As(err, &rejected) || rejected.Reason != verify.ReasonWrongTarget {
				t.Fatalf("got %v, want %s", err, verify.ReasonWrongTarget)
			}
			command := "git commit --amend --no-edit --allow-empty --gpg-sign --trailer '" + trailer + "'"
			if got := strings.Contains(err.Error(), command); got != tt.want {
				t.Fatalf("command: got %t, want %t: %v", got, tt.want, err)
			}
			if !tt.want {
				return
			}
			git := exec.CommandContext(t.Context(), "git", "interpret-trailers", "--trailer", trailer) // what git commit --trailer does
			git.Stdin = strings.NewReader(tt.message + "\n")
			amended, err := git.Output()
			if err != nil {
				t.Fatal(err)
			}
			d.message = string(bytes.TrimRight(amended, "\n"))
			s.testRepo.accepted(s.bound("lab"), s.commit(d), s.base)
		})
	}
}
