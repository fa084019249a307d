package retry

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRequestsAddUp writes requests that no agent takes: the newest contains the older ones.
func TestRequestsAddUp(t *testing.T) {
	t.Parallel()
	f := File{t.TempDir()}
	write := func(r Request) {
		t.Helper()
		r.Since = time.Now()
		if err := f.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	write(Request{ID: "a", Guests: []string{"Container/dns-1"}})
	first, _ := f.Read()
	write(Request{ID: "b", Guests: []string{"VirtualMachine/web-1", "Container/dns-1"}, UID: 7})
	got, found := f.Read()
	if !found || got.ID != "b" || got.UID != 7 || !slices.Equal(got.Guests, []string{"Container/dns-1", "VirtualMachine/web-1"}) {
		t.Errorf("got %+v, %t, want both guests", got, found)
	}
	if !got.Asks("Container/dns-1") || got.Asks("Container/dns-2") {
		t.Errorf("got %+v, want it to ask for its guests alone", got)
	}
	if err := f.Remove(first); err != nil {
		t.Error(err)
	}
	if _, found := f.Read(); !found {
		t.Error("got the newer request removed with the older one, want it kept")
	}
	write(Request{ID: "c", All: true})
	if got, _ := f.Read(); !got.All || len(got.Guests) != 0 || !got.Asks("Container/dns-2") {
		t.Errorf("got %+v, want all guests", got)
	}
	write(Request{ID: "d", Guests: []string{"Container/dns-1"}})
	got, _ = f.Read()
	if !got.All {
		t.Errorf("got %+v, want all guests still", got)
	}
	if err := f.Remove(got); err != nil {
		t.Error(err)
	}
	if got, found := f.Read(); found {
		t.Errorf("got %+v, want no request", got)
	}
}

// TestUnusableFilesAskForNothing covers files that the command did not write, and requests that do not fit.
func TestUnusableFilesAskForNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "text": "please", "no_id": `{"all":true}`, "nobody": `{"id":"a"}`, "large": `{"id":"a","all":true}` + strings.Repeat(" ", 1<<20),
	} {
		f := File{t.TempDir()}
		if err := os.WriteFile(f.file().Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, found := f.Read(); found {
			t.Errorf("%s: got %+v, want no request", name, got)
		}
	}
	if got, found := (File{}).Read(); found {
		t.Errorf("got %+v without a directory, want no request", got)
	}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("VirtualMachine/web-%d", i))
	}
	f := File{t.TempDir()}
	if err := f.Write(Request{ID: "a", Guests: many}); err == nil || !strings.Contains(err.Error(), "--all") {
		t.Errorf("got %v, want an error that names --all", err)
	}
	if _, found := f.Read(); found {
		t.Error("got a request that does not fit, want none")
	}
}
