package term

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrapped(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		width int
		want  []string
	}{
		"short":     {"a few words", 40, []string{"a few words"}},
		"broken":    {"one two three four five six", 20, []string{"one two three four", "five six"}},
		"long_word": {"look: /a/word/without/any/space/in/it and more of it", 20, []string{"look:", "/a/word/without/any/space/in/it", "and more of it"}},
		"columns":   {"adopt  the guest", 40, []string{"adopt  the guest"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Wrap(test.text, test.width)); diff != "" {
				t.Errorf("wrapped (-want +got):\n%s", diff)
			}
		})
	}
}
