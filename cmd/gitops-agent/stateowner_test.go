package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckOwner(t *testing.T) {
	t.Parallel()
	mine := t.TempDir()
	if err := checkOwner(mine); err != nil {
		t.Errorf("own directory: got %v, want none", err)
	}
	others := "/" // of root
	if os.Geteuid() == 0 {
		others = t.TempDir()
		if err := os.Chown(others, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	err := checkOwner(others)
	if err == nil || !strings.Contains(err.Error(), "belongs to user") || !strings.Contains(hintFor(err), "as the agent's user") {
		t.Errorf("directory of somebody else: got %v, want a refusal that says as whom to run", err)
	}
	if err := checkOwner(filepath.Join(mine, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: got %v, want fs.ErrNotExist", err)
	}
}
