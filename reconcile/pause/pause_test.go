package pause

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestNotesAreReadBackUntilTheyEnd(t *testing.T) {
	t.Parallel()
	f := File{t.TempDir()}
	if _, paused := f.Active(noon); paused {
		t.Error("no file: got paused, want not")
	}
	zone := time.FixedZone("CET", 3600)
	if err := f.Write(Note{Reason: "kernel update", Since: noon.In(zone), Until: noon.Add(time.Hour).In(zone), UID: 7}); err != nil {
		t.Fatal(err)
	}
	want := Note{Reason: "kernel update", Since: noon, Until: noon.Add(time.Hour), UID: 7}
	got, paused := f.Active(noon.Add(time.Hour - 1))
	if !paused {
		t.Error("before its end: got not paused, want paused")
	}
	if diff := cmp.Diff(want, got); diff != "" || got != want {
		t.Errorf("note (-want +got):\n%s", diff)
	}
	if text := got.String(); text != "by user 7 since 2026-03-01T12:00:00Z until 2026-03-01T13:00:00Z: kernel update" {
		t.Errorf("got text %q", text)
	}
	if got, paused := f.Active(noon.Add(time.Hour)); paused {
		t.Errorf("at its end: got %v, want not paused", got)
	}
	if err := f.Write(Note{Since: noon, UID: 8}); err != nil { // in place of the first
		t.Fatal(err)
	}
	if err := f.Check(); !errors.Is(err, ErrPaused) || !strings.Contains(err.Error(), "by user 8 since 2026-03-01T12:00:00Z") {
		t.Errorf("without an end: got %v, want ErrPaused", err)
	}
	names, err := filepath.Glob(filepath.Join(f.Dir, "*"))
	if err != nil || len(names) != 1 {
		t.Errorf("got files %v (%v), want the note alone", names, err)
	}
	for _, want := range []bool{true, false} {
		if removed, err := f.Remove(); removed != want || err != nil {
			t.Errorf("remove: got %t, %v, want %t", removed, err, want)
		}
	}
	if err := (errors.Join(f.Check(), File{}.Check())); err != nil {
		t.Errorf("without a file: got %v, want none", err)
	}
}

// A file that is not a note pauses the agent: somebody wanted to stop it.
func TestAnyFilePauses(t *testing.T) {
	t.Parallel()
	tests := map[string]func(path string) error{
		"empty":         func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"text":          func(path string) error { return os.WriteFile(path, []byte("please stop\n"), 0o600) },
		"large":         func(path string) error { return os.WriteFile(path, make([]byte, 1<<20), 0o600) },
		"folder":        func(path string) error { return os.Mkdir(path, 0o700) },
		"dangling_link": func(path string) error { return os.Symlink("nowhere", path) },
		"pipe":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"problem": func(path string) error {
			return os.WriteFile(path, []byte(`{"since":"2026-03-01T12:00:00Z","problem":"x"}`), 0o600)
		},
		"control_characters": func(path string) error {
			return os.WriteFile(path, []byte(`{"since":"2026-03-01T12:00:00Z","reason":"\u001b[2J"}`), 0o600)
		},
	}
	for name, create := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := File{t.TempDir()}
			if err := create(f.path()); err != nil {
				t.Fatal(err)
			}
			note, paused := f.Active(time.Now())
			if !paused || !strings.Contains(note.String(), "by the file "+f.path()) || note.Since.IsZero() {
				t.Errorf("got paused %t, %v, want a pause by the file", paused, note)
			}
			if again, _ := f.Active(time.Now()); again != note {
				t.Errorf("got %v and then %v, want the same note", note, again)
			}
		})
	}
}

// Root writes into a directory of the agent: links there must not lead root to other files, and the agent must be able to read the note.
func TestWriteFollowsNoLinkAndGivesTheFileToTheOwner(t *testing.T) {
	t.Parallel()
	f := File{t.TempDir()}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{f.file().Path(), f.file().Path() + ".new"} {
		if err := os.Symlink(other, path); err != nil {
			t.Fatal(err)
		}
	}
	owner := os.Geteuid()
	if owner == 0 {
		owner = 1
		if err := os.Chown(f.Dir, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Write(Note{Since: noon}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(other); string(text) != "other" {
		t.Errorf("got the linked file changed to %q (%v)", text, err)
	}
	info, err := os.Lstat(f.path())
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Sys().(*syscall.Stat_t).Uid; !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 || int(got) != owner {
		t.Errorf("got %v of user %d, want a file of mode 0600 of user %d", info.Mode(), got, owner)
	}
}

func TestCheckReason(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{"": true, "Kernel-Update für pve1": true, "two\nlines": false, "\x1b[2J": false, "\xff": false, strings.Repeat("x", MaxReason+1): false} {
		if err := CheckReason(text); (err == nil) != ok {
			t.Errorf("%q: got %v, want accepted %t", text, err, ok)
		}
	}
}
