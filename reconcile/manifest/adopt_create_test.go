package manifest_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// stand is an empty simulated cluster and a client of it with every privilege that a token can have.
type stand struct {
	*pvesim.Sim
	client *proxmox.Client
}

func newStand(t *testing.T) stand {
	t.Helper()
	sim := pvesim.New(pvesim.Options{TaskTime: time.Millisecond})
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(sim.Token("root@pam!full")), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := proxmox.New(proxmox.Options{Endpoints: []string{"https://pve1"}, TokenFile: token, Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	for _, volume := range []string{"local:iso/tiny.iso", "local:vztmpl/debian.tar.zst"} {
		if err := sim.AddVolume(volume, 17<<20); err != nil {
			t.Fatal(err)
		}
	}
	sim.AddPool("prod", "")
	return stand{sim, client}
}

func (s stand) close() {
	s.client.Close()
	s.Close()
}

// place puts a guest into the cluster by hand.
func (s stand) place(o guest.Observed) error {
	var lines []string
	for key, value := range o.Keys {
		if value.Set {
			lines = append(lines, key+": "+strings.ReplaceAll(value.Text, "\n", "%0A"))
		}
	}
	add := s.AddVM
	if o.Kind == guest.Container {
		add = s.AddCT
	}
	_, err := add(pvesim.Guest{VMID: o.VMID, Config: strings.Join(lines, "\n") + "\n"})
	return err
}

func (s stand) observe(t *testing.T, kind guest.Kind, vmid int) guest.Observed {
	t.Helper()
	o, err := s.client.Observe(t.Context(), cluster.Row{Kind: kind, VMID: vmid, Node: "pve1", Status: guest.StatusStopped})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// createAgain creates a guest on an empty cluster, in virtual time. It returns the guest, or the error text of the API.
func createAgain(t *testing.T, d guest.Desired) (made guest.Observed, refusal string) {
	t.Helper()
	params, err := guest.CreateParams(d)
	if err != nil {
		return made, err.Error()
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		defer s.close()
		upid, err := s.client.Do(t.Context(), cluster.Call{Op: cluster.OpCreate, Kind: d.Kind, Node: d.Node, VMID: d.VMID, Params: params}, nil)
		if err != nil {
			refusal = err.Error()
			return
		}
		task, err := s.client.Wait(t.Context(), upid)
		switch {
		case err != nil:
			t.Fatal(err)
		case !task.OK():
			refusal = task.Exit + "\n" + task.LogTail
		default:
			made = s.observe(t, d.Kind, d.VMID)
		}
	})
	return made, refusal
}

// withSource uncomments the source with which the guest can be created again.
func withSource(t failer, data []byte) []byte {
	t.Helper()
	text := strings.Replace(strings.Replace(string(data), "  source: null\n", "", 1), "  # source: ", "  source: ", 1)
	text = strings.Replace(text, "STORAGE:vztmpl/TEMPLATE", "local:vztmpl/debian.tar.zst", 1)
	if !strings.Contains(text, "\n  source: ") {
		t.Fatalf("got no line with the source in\n%s", data)
	}
	return []byte(text)
}

// TestAdoptedGuestCanBeCreatedAgain: from its manifest an adopted guest is made on an empty cluster as it was, but for what Proxmox draws
// anew and for what the manifest says that it does not pin.
func TestAdoptedGuestCanBeCreatedAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				here := newStand(t)
				defer here.close()
				if err := here.place(drawPlaced(rt, kind)); err != nil {
					rt.Fatal(err)
				}
				checkMadeAnew(t, rt, here.observe(t, kind, 105), drawOptions(rt))
			})
		})
	}
}

// drawPlaced draws a guest without pending changes, without an owner and without devices of the host.
func drawPlaced(t *rapid.T, kind guest.Kind) guest.Observed {
	texts := textsOf(kind)
	o := liveGuest(kind, nil)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		text := rapid.SampledFrom(texts[key]).Draw(t, key)
		if rapid.Bool().Draw(t, "set "+key) && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "gitops-") {
			o.Keys[key] = guest.Value{Text: text, Set: true}
		}
	}
	return o
}

func checkMadeAnew(outer *testing.T, t *rapid.T, o guest.Observed, opts manifest.AdoptOptions) {
	t.Helper()
	a, err := manifest.Adopt(o, opts)
	if err != nil {
		t.Fatalf("adopt: %v", err)
	}
	d := wanted(t, withSource(t, a.Data))
	made, refusal := createAgain(outer, d)
	if refusal != "" {
		t.Fatalf("create: got %q, want no refusal, of\n%s", refusal, a.Data)
	}
	checkAlike(t, a, d, o, made)
}

// checkAlike compares a guest that was created again with the adopted guest.
func checkAlike(t failer, a manifest.Adopted, d guest.Desired, was, is guest.Observed) {
	t.Helper()
	for _, c := range guest.Diff(d, is) {
		t.Fatalf("got %+v to change on the guest made anew, want nothing, in\n%s", c, a.Data)
	}
	checkNothingAdded(t, a, was, is)
	left := map[string]bool{}
	for _, l := range a.Left {
		left[l.Key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(was.Keys)) {
		want, got := asMade(was, key, left), asMade(is, key, left)
		if got != want && !left[key] && !ownBusiness(key, was.Keys[key]) && !completed(key, want) {
			t.Fatalf("%s: got %q, want %q as it was, from\n%s", key, got, want, a.Data)
		}
	}
}

// checkNothingAdded compares what only the guest made anew has with what its absence meant. A guest without a name is given one.
func checkNothingAdded(t failer, a manifest.Adopted, was, is guest.Observed) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(is.Keys)) {
		if _, had := was.Keys[key]; had || key == "name" || ownBusiness(key, is.Keys[key]) || completed(key, "") {
			continue
		}
		absent := guest.Desired{Ref: was.Ref, Intents: []guest.Intent{{Key: key, Verb: guest.Absent}}}
		for _, c := range guest.Diff(absent, is) {
			t.Fatalf("%s: got %q on the guest made anew, want none, from\n%s", key, c.From, a.Data)
		}
	}
}

// completed reports whether Proxmox makes a value more exact when a guest is made: a machine type without its version, a boot order
// that nobody chose. Diff takes the one for the other.
func completed(key, want string) bool {
	return key == "boot" && want == "" || key == "machine" && !strings.Contains(want, "-")
}

// asMade returns the meaning of a key, without generated values and values that are left out.
func asMade(o guest.Observed, key string, left map[string]bool) string {
	var kept []string
	for i, part := range strings.Split(o.Keys[key].Text, ",") {
		name, _, _ := strings.Cut(part, "=")
		volume, isVolume := volumeStorage(part)
		switch {
		case i == 0 && isVolume:
			kept = append(kept, volume)
		case left[key+"."+name], name == "uuid", (key == "efidisk0" || key == "tpmstate0") && name == "size", strings.Contains(part, "media=cdrom"):
		case name == "size" && strings.Contains(o.Keys[key].Text, "cloudinit"):
		case name == "size" && strings.HasSuffix(part, "K"): // no whole MiB
			kept = append(kept, "size=5000M")
		default:
			kept = append(kept, part)
		}
	}
	slices.Sort(kept)
	text, _ := guest.Canonical(o.Kind, key, strings.Join(kept, ","))
	return text
}

var volumeName = regexp.MustCompile(`^([0-9]+/)?(vm|subvol|base|basevol)-[0-9]+-`)

func volumeStorage(part string) (string, bool) {
	storage, name, found := strings.Cut(part, ":")
	return storage + ":drawn", found && volumeName.MatchString(name)
}
