package term

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestPromptConfirms(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{"y\n": true, "Yes\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yes please\n": false}
	for answer, want := range tests {
		var asked strings.Builder
		got, err := Prompt{In: strings.NewReader(answer), Out: &asked, Interactive: true}.Confirm("damaged\x1b\nRepair it?")
		if got != want || err != nil {
			t.Errorf("%q: got %t and %v, want %t", answer, got, err, want)
		}
		if asked.String() != "damaged\uFFFD\nRepair it?\n[y/N] " {
			t.Errorf("got question %q", asked.String())
		}
	}
}

func TestPromptWithoutTerminal(t *testing.T) {
	t.Parallel()
	var asked strings.Builder
	if got, err := (Prompt{In: strings.NewReader("y\n"), Out: &asked}).Confirm("?"); got || !errors.Is(err, ErrNotInteractive) || asked.Len() > 0 {
		t.Errorf("got %t, %v and question %q, want ErrNotInteractive", got, err, asked.String())
	}
	broken := errors.New("broken")
	if got, err := (Prompt{In: iotest.ErrReader(broken), Out: &asked, Interactive: true}).Confirm("?"); got || !errors.Is(err, broken) {
		t.Errorf("got %t and %v, want the error", got, err)
	}
}
