package verify

import (
	"errors"
	"fmt"
	"testing"
)

// A refusal contains bytes in hexadecimal, also if the error of a library has them as an array.
func TestRefusalHasHexadecimalBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		fmt.Sprintf("root:\n%v\ndiffers from:\n%v", []byte("12345678"), []byte("\x00abcdefg\xff")): "root:\n3132333435363738\ndiffers from:\n0061626364656667ff",
		"log [1 2 3]":             "log [1 2 3]",
		"[1 2 3 4 5 6 7 999]":     "[1 2 3 4 5 6 7 999]",
		"[1 2 3 4 5 6 7 8]":       "0102030405060708",
		"not an array: 1 2 3 4 5": "not an array: 1 2 3 4 5",
	} {
		if got := refusal(ReasonBadLogEntry, errors.New(text)).Error(); got != "reject : "+ReasonBadLogEntry.Meaning()+": "+want {
			t.Errorf("got %q, want %q at its end", got, want)
		}
	}
}
