package main

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestPersonAgrees(t *testing.T) {
	tests := map[string]bool{"y\n": true, "Yes\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yes please\n": false}
	for answer, want := range tests {
		var asked strings.Builder
		got, err := person{in: strings.NewReader(answer), out: &asked, present: true}.agrees("damaged\x1b\nRepair it?")
		if got != want || err != nil {
			t.Errorf("%q: got %t and %v, want %t", answer, got, err, want)
		}
		if asked.String() != "damaged\uFFFD\nRepair it?\n[y/N] " {
			t.Errorf("got question %q", asked.String())
		}
	}
}

func TestPersonIsNotThere(t *testing.T) {
	var asked strings.Builder
	if got, err := (person{in: strings.NewReader("y\n"), out: &asked}).agrees("?"); got || !errors.Is(err, errNobody) || asked.Len() > 0 {
		t.Errorf("got %t, %v and question %q, want errNobody", got, err, asked.String())
	}
	broken := errors.New("broken")
	if got, err := (person{in: iotest.ErrReader(broken), out: &asked, present: true}).agrees("?"); got || !errors.Is(err, broken) {
		t.Errorf("got %t and %v, want the error", got, err)
	}
}
