package pvesim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// roundtripFloor is how many recorded writes must read back as recorded. It only goes up. The one that does not is an EFI disk that the
// recorder's host refused for want of a program; it counts as failing.
const roundtripFloor = 394

// roundtrip is one recorded write of one key and what the key held afterwards.
type roundtrip struct {
	key, sent string
	got       string // JSON, or "" when the key is absent
	refusal   string // status line and body, or "task: " and the exit status
}

// TestRoundtrips sends every recorded write of a single key through the API and reads the key back.
func TestRoundtrips(t *testing.T) {
	rows := readRoundtrips(t, filepath.Join(sharedDir(t, "transcripts"), "ROUNDTRIPS.md"))
	synctest.Test(t, func(t *testing.T) {
		s := newRoundtripGuests(t)
		passed := 0
		for i, row := range rows {
			s.selectGuest(row)
			if diff := s.run(row); diff != "" {
				t.Logf("MISS row %d: %s = %q\n%s", i+1, row.key, row.sent, diff)
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

// roundtripGuests is the guest that the rows write to: the recorder went through four of them.
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

// selectGuest moves on to the next guest where the recorder did.
func (s *roundtripGuests) selectGuest(row roundtrip) {
	next := s.vmid
	switch {
	case s.vmid == 101 && row.key == "memory":
		next = 110
	case s.vmid == 110 && row.key == "hostname":
		next = 401
	case s.vmid == 401 && row.key == "sshkeys":
		next = 550
	case s.vmid == 550 && row.key == "sshkeys" && strings.HasPrefix(row.sent, "ssh-rsa"):
		next = 595
	case s.vmid == 101 && row.key == "sshkeys" && strings.Contains(row.sent, "ed25519+"): // the recorder wrote its first key again
		s.ok("PUT", "/nodes/pve1/qemu/101/config", "sshkeys="+strings.ReplaceAll(row.sent, "+", "%20"))
	case s.locked && row.key == "entrypoint" && row.refusal == "": // unlocked by hand
		if err := s.sim.Edit(401, "lock", ""); err != nil {
			s.t.Fatal(err)
		}
		s.locked = false
	}
	if s.kind = QEMU; next == 401 {
		s.kind = LXC
		s.locked = s.locked || row.key == "lock"
	}
	s.vmid = next
}

// run writes one row and returns how the outcome differs.
func (s *roundtripGuests) run(row roundtrip) string {
	path := "/nodes/pve1/" + string(s.kind) + "/" + itoa(s.vmid) + "/config"
	var out string
	if want, ok := strings.CutPrefix(row.refusal, "task: "); ok {
		if got := s.task("POST", path, row.key+"="+row.sent); got != want {
			out = fmt.Sprintf("  task got  %s\n  task want %s\n", got, want)
		}
	} else {
		out = compareRefusal(s.call("PUT", path, row.key+"="+row.sent), row.refusal)
	}
	var conf map[string]json.RawMessage
	if err := json.Unmarshal(s.ok("GET", path).data(s.t), &conf); err != nil {
		s.t.Fatal(err)
	}
	got, want := generic(string(conf[row.key]), row), generic(row.got, row)
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

// generic blanks what a server draws itself, unless the row sent it, and the numbers of volumes.
func generic(s string, row roundtrip) string {
	s = diskNumber.ReplaceAllString(s, "N/vm-N-disk-N")
	return generated.ReplaceAllStringFunc(s, func(m string) string {
		if strings.Contains(row.sent, m) {
			return m
		}
		return "GENERATED"
	})
}

func readRoundtrips(t *testing.T, path string) []roundtrip {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows []roundtrip
	for line := range strings.SplitSeq(string(b), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| key |") {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), " | ")
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "\x00", "|")
		}
		if len(cells) != 5 {
			t.Fatalf("row %q: got %d cells, want 5", line, len(cells))
		}
		rows = append(rows, roundtrip{
			key: strings.TrimPrefix(cells[0], "| "), sent: pythonText(t, cells[1]), got: pythonJSON(t, cells[2]),
			refusal: strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(cells[4], "|"), " ")),
		})
	}
	return rows
}

var longText = regexp.MustCompile(`(?s)^'(.).*\.\.\.\((\d+) chars\)$`)

// pythonText reads a Python string as its repr prints it; an abridged one repeats its first letter.
func pythonText(t *testing.T, s string) string {
	t.Helper()
	if m := longText.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Repeat(m[1], n)
	}
	q := s[0]
	if len(s) < 2 || q != '\'' && q != '"' || s[len(s)-1] != q {
		t.Fatalf("text %s: got no Python string, want one", s)
	}
	var b strings.Builder
	for rest := s[1 : len(s)-1]; rest != ""; {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, q)
		if err != nil && strings.HasPrefix(rest, `\`) { // Python escapes either quote
			r, multibyte, tail = rune(rest[1]), false, rest[2:]
		} else if err != nil {
			t.Fatalf("text %s: %v", s, err)
		}
		if multibyte || r < 0x80 {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
		rest = tail
	}
	return b.String()
}

// pythonJSON is the JSON of a value as Python prints it, "" for an absent one.
func pythonJSON(t *testing.T, s string) string {
	t.Helper()
	switch {
	case s == "absent":
		return ""
	case s[0] == '\'' || s[0] == '"':
		return string(jsonString(pythonText(t, s)))
	}
	return s
}
