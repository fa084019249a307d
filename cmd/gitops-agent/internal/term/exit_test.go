package term

import (
	"errors"
	"strings"
	"testing"
)

func TestPrintError(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err    error
		status int
		want   string
	}{
		"nothing":      {nil, ExitDone, ""},
		"silent":       {WithStatus(ExitChanges, nil), ExitChanges, ""},
		"plain":        {errors.New("read x: no"), ExitError, "gitops-agent: error: read x: no\n"},
		"several":      {errors.Join(errors.New("a"), errors.New("b")), ExitError, "gitops-agent: error: a\n  b\n"},
		"own_hint":     {WithHint(errors.New("a"), "do b"), ExitError, "gitops-agent: error: a\ngitops-agent: hint: do b\n"},
		"refused":      {WithStatus(ExitRefused, WithHint(errors.New("a"), "do b")), ExitRefused, "gitops-agent: error: a\ngitops-agent: hint: do b\n"},
		"control_text": {errors.New("a\x1b[2J"), ExitError, "gitops-agent: error: a\uFFFD[2J\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			hint, _ := Hint(test.err)
			PrintError(&out, test.err, hint)
			if out.String() != test.want || ExitStatus(test.err) != test.status {
				t.Errorf("got %q and %d, want %q and %d", out.String(), ExitStatus(test.err), test.want, test.status)
			}
		})
	}
}
