package pvesim

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"gitops-agent/internal/recordings"
)

// roundtripFloor is the number of recorded writes that must read back as recorded. It never decreases. One write does not: an EFI disk that the
// recorder's host rejected because it lacked a program. It counts as failed.
const roundtripFloor = 394

// TestRoundtrips sends every recorded write of a single key through the API and reads the key back.
func TestRoundtrips(t *testing.T) {
	rows := recordings.Roundtrips(t)
	synctest.Test(t, func(t *testing.T) {
		s := newRoundtripGuests(t)
		passed := 0
		for i, row := range rows {
			s.selectGuest(row)
			if diff := s.run(row); diff != "" {
				t.Logf("MISS row %d: %s = %q\n%s", i+1, row.Key, row.Sent, diff)
			} else {
				passed++
			}
		}
		fmt.Fprintf(os.Stderr, "roundtrips: %d of %d\n", passed, len(rows))
		if passed < roundtripFloor {
			t.Errorf("roundtrips that match: got %d, want at least %d", passed, roundtripFloor)
		}
	})
}

// roundtripGuests is the current guest of the rows. The recorder wrote to several guests in turn.
type roundtripGuests struct {
	*client
	kind   Kind
	vmid   int
	locked bool
}

func newRoundtripGuests(t *testing.T) *roundtripGuests {
	c := newClient(t, Options{Storages: []Storage{
		{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
		{ID: "local2", Type: "dir", Path: "/var/lib/vz2", Content: "images,iso,rootdir"},
	}})
	for _, id := range []string{"local:iso/tiny.iso", "local:import/tiny.qcow2"} {
		if err := c.sim.AddVolume(id, 17825792); err != nil {
			t.Fatal(err)
		}
	}
	s := &roundtripGuests{client: c, kind: QEMU, vmid: 101}
	addVM(t, c.sim, 101, "name: min\nboot:  \n")
	addVM(t, c.sim, 110, "name: opts\nscsi0: local:1\nnet0: virtio,bridge=vmbr0\n")
	addVM(t, c.sim, 550, "name: la\nscsi0: local:1\nunused0: local:550/vm-550-disk-9.raw\n")
	addVM(t, c.sim, 595, "name: k\nboot:  \n")
	_, err := c.sim.AddCT(Guest{VMID: 401, Config: "hostname: ct1\nmemory: 16\ncores: 2\nunprivileged: 1\nrootfs: local:1\n"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// selectGuest changes to the next guest where the recorder did.
func (s *roundtripGuests) selectGuest(row recordings.Roundtrip) {
	next := s.vmid
	switch {
	case s.vmid == 101 && row.Key == "memory":
		next = 110
	case s.vmid == 110 && row.Key == "hostname":
		next = 401
	case s.vmid == 401 && row.Key == "sshkeys":
		next = 550
	case s.vmid == 550 && row.Key == "sshkeys" && strings.HasPrefix(row.Sent, "ssh-rsa"):
		next = 595
	case s.vmid == 101 && row.Key == "sshkeys" && strings.Contains(row.Sent, "ed25519+"): // the recorder wrote its first key again
		s.ok("PUT", "/nodes/pve1/qemu/101/config", "sshkeys="+strings.ReplaceAll(row.Sent, "+", "%20"))
	case s.locked && row.Key == "entrypoint" && row.Refusal == "": // unlocked by hand
		if err := s.sim.Edit(401, "lock", ""); err != nil {
			s.t.Fatal(err)
		}
		s.locked = false
	}
	if s.kind = QEMU; next == 401 {
		s.kind = LXC
		s.locked = s.locked || row.Key == "lock"
	}
	s.vmid = next
}

// run writes one row and returns the difference of the result, or "".
func (s *roundtripGuests) run(row recordings.Roundtrip) string {
	path := "/nodes/pve1/" + string(s.kind) + "/" + itoa(s.vmid) + "/config"
	var out string
	if want, ok := strings.CutPrefix(row.Refusal, "task: "); ok {
		if got := s.task("POST", path, row.Key+"="+row.Sent); got != want {
			out = fmt.Sprintf("  task got  %s\n  task want %s\n", got, want)
		}
	} else {
		out = compareRefusal(s.call("PUT", path, row.Key+"="+row.Sent), row.Refusal)
	}
	var conf map[string]json.RawMessage
	if err := json.Unmarshal(s.ok("GET", path).data(s.t), &conf); err != nil {
		s.t.Fatal(err)
	}
	got, want := generic(string(conf[row.Key]), row), generic(row.Got, row)
	if got != want {
		out += fmt.Sprintf("  got  %s\n  want %s", got, want)
	}
	return out
}

func compareRefusal(got answer, want string) string {
	if want == "" {
		if got.status == 200 {
			return ""
		}
		return fmt.Sprintf("  got  %d %s %s\n  want 200\n", got.status, got.reason, got.body)
	}
	r := &replay{}
	line, body, _ := strings.Cut(want, " {")
	if have := fmt.Sprintf("HTTP/1.1 %d %s", got.status, got.reason); have != line || r.normalize(got.body) != r.normalize("{"+body) {
		return fmt.Sprintf("  got  %s %s\n  want %s {%s\n", have, got.body, line, body)
	}
	return ""
}

var (
	diskNumber = regexp.MustCompile(`(\d+)/vm-\d+-disk-\d+`)
	generated  = regexp.MustCompile(`BC:24:11(?::[0-9A-F]{2}){3}|^"[0-9a-f]{40}"$|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|ctime=\d+`)
)

// generic replaces values that a server generates, unless the row sent them, and the numbers of volumes.
func generic(s string, row recordings.Roundtrip) string {
	s = diskNumber.ReplaceAllString(s, "N/vm-N-disk-N")
	return generated.ReplaceAllStringFunc(s, func(m string) string {
		if strings.Contains(row.Sent, m) {
			return m
		}
		return "GENERATED"
	})
}
