package adoption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// The reader reads the HA entry of a guest. If that fails, it prints a note and the entry is not pinned.
func TestGuestReaderReadsHAEntries(t *testing.T) {
	synctest.Test(t, testGuestReaderReadsHAEntries) // the inventory shows an HA entry only after a while
}

func testGuestReaderReadsHAEntries(t *testing.T) {
	sim := pvesim.New(pvesim.Options{})
	defer sim.Close()
	for _, vmid := range []int{105, 106} {
		if _, err := sim.AddVM(pvesim.Guest{VMID: vmid, Config: "name: erp\n"}); err != nil {
			t.Fatal(err)
		}
	}
	client := clientOf(t, sim)
	defer client.Close()
	resource := cluster.Call{
		Op: cluster.OpHAAdd, Kind: guest.VirtualMachine, Node: "pve1", VMID: 105,
		Params: map[string]string{"state": "stopped", "max_restart": "3"},
	}
	if _, err := client.Do(t.Context(), resource, nil); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	read := func() (guest.Observed, string) {
		var notes bytes.Buffer
		found, err := guestReader{client, term.NewProgress(&notes), &notes}.read(t.Context(), []int{105, 106})
		if err != nil {
			t.Fatal(err)
		}
		o, err := found.guest(105)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := found.guest(106); err != nil || other.Resource != nil {
			t.Errorf("got resource %+v and %v, want none of guest 106", other.Resource, err)
		}
		return o, notes.String()
	}

	o, notes := read()
	if diff := cmp.Diff(&guest.HA{State: "stopped", MaxRestart: 3, MaxRelocate: 1}, o.Resource); diff != "" || notes != "" {
		t.Errorf("got another resource (-want +got):\n%sand notes %q", diff, notes)
	}

	if err := sim.Inject(pvesim.Fault{Method: "GET", Path: "/cluster/ha/resources", Times: -1, Kind: pvesim.ErrorText, Text: "got timeout"}); err != nil {
		t.Fatal(err)
	}
	o, notes = read()
	if o.Resource != nil || !strings.Contains(notes, "note: HA entries are not pinned: ") {
		t.Errorf("got resource %+v and notes %q, want none and a note", o.Resource, notes)
	}
}

// clientOf returns a client of a simulator, which the caller closes.
func clientOf(t *testing.T, sim *pvesim.Sim) *proxmox.Client {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(sim.Token("root@pam!full")), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := proxmox.New(proxmox.Options{Endpoints: []string{"https://pve1"}, TokenFile: token, Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A fleet costs a call for each guest, one for the release, and two lists of guests. Manifests are written several at a time, and their names and
// their order do not depend on which is written first.
func TestAdoptAFleet(t *testing.T) {
	t.Parallel()
	const guests = 300
	sim := pvesim.New(pvesim.Options{})
	defer sim.Close()
	for vmid := 101; vmid < 101+guests; vmid++ {
		if _, err := sim.AddVM(pvesim.Guest{VMID: vmid, Config: "name: web\n"}); err != nil {
			t.Fatal(err)
		}
	}
	client := clientOf(t, sim)
	defer client.Close()
	found, err := guestReader{client, term.NewProgress(io.Discard), io.Discard}.read(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// One call is for the configuration of a guest, one for its run state, four for a firewall without sets, and one for the firewall of the datacenter.
	if got, want := sim.Counters().Reads, 6*guests+4; got > want {
		t.Errorf("got %d calls for %d guests, want %d at most: %v", got, guests, want, sim.Counters().Routes)
	}
	a := adopter{opts: Options{Dir: t.TempDir()}, progress: term.NewProgress(io.Discard)}
	known := &conflicts{labels: map[string]bool{}}
	for _, vmid := range found.vmids {
		a.choose(vmid, found, known)
	}
	if err := a.adoptChosen(t.Context()); err != nil {
		t.Fatal(err)
	}
	result := a.result()
	if len(result.done) != guests || len(result.refused) != 0 {
		t.Fatalf("got %d guests and %d refused, want %d and none", len(result.done), len(result.refused), guests)
	}
	for i, g := range result.done {
		want := fmt.Sprintf("web-%d", 101+i)
		if i == 0 {
			want = "web"
		}
		data, err := os.ReadFile(g.file)
		if g.Name != want || g.VMID != 101+i || !bytes.Equal(data, g.Data) || err != nil {
			t.Errorf("got %s with vmid %d in %s, error %v, want %s with vmid %d", g.Name, g.VMID, g.file, err, want, 101+i)
		}
	}
}

// An adoption that is interrupted says so, instead of naming every guest that it did not read.
func TestAdoptionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	a := adopter{
		opts: Options{Dir: dir}, progress: term.NewProgress(io.Discard),
		chosen: []candidate{{vmid: 105, seen: guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 105}}, name: "erp"}},
	}
	interrupted := errors.New("interrupt signal received")
	cancel(interrupted)
	if err := a.adoptChosen(ctx); !errors.Is(err, interrupted) {
		t.Errorf("got %v, want %v", err, interrupted)
	}
	if files, err := os.ReadDir(dir); len(files) > 0 || err != nil {
		t.Errorf("got files %v and %v, want none", files, err)
	}
}

func TestWriteAtomically(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.yaml")
	check := func(want string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil || string(data) != want {
			t.Errorf("got %q and %v, want %q", data, err, want)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("got mode %v and %v, want 0644", info.Mode(), err)
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
			t.Errorf("got %d files beside it, want it alone", len(left))
		}
	}
	if err := writeAtomically(path, []byte("first"), false); err != nil {
		t.Fatal(err)
	}
	check("first")
	if err := writeAtomically(path, []byte("second"), false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want %v", err, fs.ErrExist)
	}
	check("first")
	if err := writeAtomically(path, []byte("third"), true); err != nil {
		t.Fatal(err)
	}
	check("third")
}
