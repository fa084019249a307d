package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func jsonText(t *testing.T, text string) []byte {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return quoted
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVMListFileReads(t *testing.T) {
	file := vmlistFile{path: filepath.Join(t.TempDir(), ".vmlist"), timeout: time.Minute}
	if _, err := file.read(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v without a file, want os.ErrNotExist", err)
	}
	write(t, file.path, `{"version": 3}`)
	for range 2 {
		if list, err := file.read(); err != nil || list.version != 3 {
			t.Errorf("got version %d, error %v, want 3", list.version, err)
		}
	}
	write(t, file.path, `{"version": 4}`)
	if list, err := file.read(); err != nil || list.version != 4 {
		t.Errorf("got version %d, error %v after a change, want 4", list.version, err)
	}
	write(t, file.path, `{"version": `)
	if list, err := file.read(); err == nil {
		t.Errorf("got version %d of half a file, want an error", list.version)
	}
}

func TestVMListFileIsBounded(t *testing.T) {
	file := vmlistFile{path: filepath.Join(t.TempDir(), ".vmlist"), timeout: time.Minute}
	write(t, file.path, `{"version": 3}`+string(bytes.Repeat([]byte(" "), maxVMList)))
	if _, err := file.read(); err == nil || !strings.Contains(err.Error(), "more than 8 MiB") {
		t.Errorf("got %v, want the bound named", err)
	}
}

// TestVMListFileDoesNotHang checks that a file system that hangs does not block the engine, and that the ticks do not start more and more readers.
func TestVMListFileDoesNotHang(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	file := vmlistFile{path: pipe, timeout: time.Millisecond}
	var first chan vmlistText
	for range 3 {
		if _, err := file.read(); !errors.Is(err, errVMListHangs) {
			t.Fatalf("got %v of a file that does not answer, want errVMListHangs", err)
		}
		if first == nil {
			first = file.late
		}
		if file.late != first {
			t.Fatal("got a second reader next to the reader that hangs, want one")
		}
	}
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the reader has opened the pipe
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	<-file.late
	file.late = nil
	write(t, pipe+"2", `{"version": 3}`)
	file.path, file.timeout = pipe+"2", time.Minute
	if list, err := file.read(); err != nil || list.version != 3 {
		t.Errorf("got version %d, error %v when it answers again, want 3", list.version, err)
	}
}

// BenchmarkVMListFile reads the list of 1,000 guests, unchanged and after a change.
func BenchmarkVMListFile(b *testing.B) {
	rows := make([]string, 1000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`"%d": { "node": "pve1", "type": "qemu", "version": %d }`, 1000+i, i)
	}
	path := filepath.Join(b.TempDir(), ".vmlist")
	write(b, path, fmt.Sprintf("{\n\"version\": 1000,\n\"ids\": {\n%s}\n\n}\n", strings.Join(rows, ",\n")))
	for name, changes := range map[string]bool{"same": false, "changed": true} {
		b.Run(name, func(b *testing.B) {
			file := vmlistFile{path: path}
			for b.Loop() {
				if changes {
					file.text = nil
				}
				if list, err := file.read(); err != nil || len(list.guests) != 1000 {
					b.Fatalf("got %d guests, error %v, want 1000", len(list.guests), err)
				}
			}
		})
	}
}
