package verify

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTrailers(t *testing.T) {
	tests := map[string]struct {
		message string
		want    []string
	}{
		"one":                {"s\n\nA: 1\n", []string{"A: 1"}},
		"several":            {"s\n\nbody\n\nA: 1\nB-c: two words\n", []string{"A: 1", "B-c: two words"}},
		"no_final_newline":   {"s\n\nA: 1", []string{"A: 1"}},
		"value_with_colon":   {"s\n\nA: 1: 2\n", []string{"A: 1: 2"}},
		"subject_alone":      {"A: 1\n", nil},
		"empty_subject":      {"\n\nA: 1\n", nil},
		"prose_among":        {"s\n\nA: 1\nprose\n", nil},
		"last_is_prose":      {"s\n\nA: 1\n\nprose\n", nil},
		"two_final_newlines": {"s\n\nA: 1\n\n", nil},
		"continuation":       {"s\n\nA: 1\n 2\n", nil},
		"carriage_return":    {"s\n\nA: 1\r\n", nil},
		"trailing_space":     {"s\n\nA: 1 \n", nil},
		"two_spaces":         {"s\n\nA:  1\n", nil},
		"no_space":           {"s\n\nA:1\n", nil},
		"empty_value":        {"s\n\nA: \n", nil},
		"space_in_key":       {"s\n\nA b: 1\n", nil},
		"control_character":  {"s\n\nA: 1\x1b[2K\n", nil},
		"hidden_by_nul":      {"s\x00\n\nA: 1\n", nil},
		"gap_with_space":     {"s\n \nA: 1\n", nil},
		"too_many":           {"s\n\n" + strings.Repeat("A: 1\n", maxTrailers+1), nil},
		"too_long":           {"s\n\nA: " + strings.Repeat("x", maxTrailerLine) + "\n", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, tr := range parseTrailers([]byte(tt.message)) {
				got = append(got, tr.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("trailers (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParseSpan: an accepted range renders to the same text, so that a range has only one spelling.
func FuzzParseSpan(f *testing.F) {
	first, second := strings.Repeat("1", 40), strings.Repeat("2", 40)
	f.Add(first + ".." + second)
	f.Add(first + "..." + second)
	f.Add(first + ".." + first)
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseSpan(text); err == nil && (s.String() != text || s.from == s.to) {
			t.Errorf("got %s, want %q and two ends", s, text)
		}
	})
}

// FuzzParseTrailers: accepted trailers render to the end of the message.
func FuzzParseTrailers(f *testing.F) {
	f.Add("subject\n\nGitops-Target: lab/main\n")
	f.Add("subject\n\nbody\n\nGitops-Approve: 12\nGitops-Run: stop VirtualMachine/web")
	f.Fuzz(func(t *testing.T, message string) {
		var trailers []trailer
		requireBounded(t, 64*len(message), func() { trailers = parseTrailers([]byte(message)) })
		if trailers == nil {
			return
		}
		var again strings.Builder
		for _, tr := range trailers {
			again.WriteString("\n" + tr.String())
		}
		if !strings.HasSuffix(strings.TrimSuffix(message, "\n"), "\n"+again.String()) {
			t.Errorf("got %q, which does not end %q", again.String(), message)
		}
	})
}
