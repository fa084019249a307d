package tree

import (
	"strings"
	"testing"
)

// TestManyValuesAreRefusedBeforeTheyAreDecoded: each of these files has 1 MiB, and the decoder made up to 190 MiB and three seconds of it.
func TestManyValuesAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{"flow": "1,", "maps": "{},", "lists": "- a\n", "documents": "---\n"} {
		text := strings.Repeat(part, maxFile/len(part)-1)
		if part[len(part)-1] == ',' {
			text = "[" + text + "]"
		}
		documents, problems := Read("x.yaml", []byte(text))
		if len(documents) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Message, "values: larger than the limit of 150000: split it") {
			t.Errorf("%s: got %d documents and %v, want the file refused", name, len(documents), problems)
		}
	}
}
