package manifest

import "testing"

// A word of two letters of which one differs is another word, and no typo.
func TestSuggestionOfShortWords(t *testing.T) {
	t.Parallel()
	options := []string{"gz", "zst", "lzo", "on"}
	for word, want := range map[string]string{"xz": "", "GZ": "did you mean gz?", "gzz": "did you mean gz?", "zts": "did you mean zst?", "of": "", "x": ""} {
		if got := Suggestion(word, options); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}
