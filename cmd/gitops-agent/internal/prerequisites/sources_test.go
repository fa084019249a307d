package prerequisites

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
)

const gib = int64(1) << 30

// TestFindForeseesWhatSourcesMakeImpossible creates guests from a backup, a template and a disk image of a machine with a large disk and UEFI. What each of them contains decides what
// is foreseen: the size of the disk, the firmware, and the space of the storage together with what the plan makes there for others.
func TestFindForeseesWhatSourcesMakeImpossible(t *testing.T) {
	t.Parallel()
	const image = "local:import/debian.qcow2"
	vm := func(source guest.Source, disk string, keys ...string) guest.Desired {
		d := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Node: "pve1", Source: source}
		d.Intents = []guest.Intent{{Key: "scsi0", Verb: guest.Want, Sub: map[string]string{"storage": "san", "size": disk}}}
		for _, pair := range keys {
			key, text, _ := strings.Cut(pair, "=")
			d.Intents = append(d.Intents, guest.Intent{Key: key, Verb: guest.Want, Text: text})
		}
		return d
	}
	clone := guest.Source{Clone: &guest.Clone{VMID: 900, Full: true, Storage: "san"}}
	tests := map[string]struct {
		guest   func(backup string) guest.Desired
		takings []plan.Taking
		larger  string
		want    string
	}{
		"backup": {guest: func(b string) guest.Desired {
			return vm(guest.Source{Backup: &guest.Backup{Volume: b, Storage: "san"}}, "32G", "bios=ovmf")
		}},
		"backup_larger": {guest: func(b string) guest.Desired {
			return vm(guest.Source{Backup: &guest.Backup{Volume: b, Storage: "san"}}, "8G")
		}, larger: "32G"},
		"backup_firmware": {guest: func(b string) guest.Desired {
			return vm(guest.Source{Backup: &guest.Backup{Volume: b, Storage: "san"}}, "32G", "bios=seabios")
		}, want: "with the firmware ovmf, and the manifest wants seabios"},
		"backup_full": {guest: func(b string) guest.Desired {
			return vm(guest.Source{Backup: &guest.Backup{Volume: b, Storage: "san"}}, "1G")
		}, takings: []plan.Taking{{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "db-1", VMID: 202}, Key: "scsi1", Node: "pve1", Storage: "san", Size: 70 * gib}}, larger: "32G", want: "san: has 100.0 GiB free on pve1, and the new and grown disks take 102.0 GiB"},
		"clone_larger":   {guest: func(string) guest.Desired { return vm(clone, "8G") }, larger: "40G"},
		"clone_firmware": {guest: func(string) guest.Desired { return vm(clone, "40G", "bios=seabios") }, want: "template 900: its system was installed with the firmware ovmf"},
		"clone_full":     {guest: func(string) guest.Desired { return vm(clone, "120G") }, want: "take 120.0 GiB"},
		"image_larger": {guest: func(string) guest.Desired {
			return vm(guest.Source{Image: &guest.Image{Volume: image, Slot: "scsi0"}}, "8G")
		}, larger: "20G"},
		"image_fits": {guest: func(string) guest.Desired {
			return vm(guest.Source{Image: &guest.Image{Volume: image, Slot: "scsi0"}}, "20G")
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim := pvesim.New(pvesim.Options{Nodes: []string{"pve1"}, Storages: []pvesim.Storage{
					{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,backup,import", Size: 500 * gib},
					{ID: "san", Type: "lvm", Content: "images,rootdir", Size: 100 * gib, Thick: true},
				}})
				defer sim.Close()
				_, errVM := sim.AddVM(pvesim.Guest{VMID: 100, Node: "pve1", Config: "bios: ovmf\nscsi0: local:32\n"})
				_, errTemplate := sim.AddTemplate(pvesim.Guest{VMID: 900, Node: "pve1", Config: "bios: ovmf\nscsi0: local:40\n"})
				if err := errors.Join(errVM, errTemplate, sim.AddVolume(image, 20*gib)); err != nil {
					t.Fatal(err)
				}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://pve1/api2/json/nodes/pve1/vzdump", strings.NewReader(url.Values{"vmid": {"100"}, "storage": {"local"}}.Encode()))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				request.Header.Set("Authorization", "PVEAPIToken="+sim.Token("root@pam!full"))
				response, err := (&http.Client{Transport: sim.Transport()}).Do(request)
				if err != nil || response.StatusCode != http.StatusOK {
					t.Fatalf("back up: got %v, %v", response, err)
				}
				_ = response.Body.Close()
				time.Sleep(time.Hour)
				volumes := sim.Volumes()
				at := slices.IndexFunc(volumes, func(v pvesim.Volume) bool { return v.Kind == "backup" })
				if at < 0 {
					t.Fatal("got no backup")
				}
				token := filepath.Join(t.TempDir(), "token")
				if err := os.WriteFile(token, []byte(sim.Token("root@pam!full")), 0o600); err != nil {
					t.Fatal(err)
				}
				reader, err := proxmox.NewReader(proxmox.Options{Endpoints: []string{"https://pve1"}, TokenFile: token, Transport: sim.Transport()})
				if err != nil {
					t.Fatal(err)
				}
				defer reader.Close()
				guests := []guest.Desired{test.guest(volumes[at].ID)}
				found := Find(t.Context(), reader, Options{Guests: guests, Made: guests, Takings: test.takings})
				var got []string
				for _, u := range found.Unresolved {
					got = append(got, u.What+" "+u.Name+": "+u.Problem)
				}
				if text := strings.Join(got, "\n"); len(got) != min(1, len(test.want)) || !strings.Contains(text, test.want) {
					t.Errorf("got %q, want %q", text, test.want)
				}
				larger := ""
				for _, l := range found.Larger[guests[0].Ref] {
					larger += l.Size
				}
				if larger != test.larger {
					t.Errorf("got volumes of %q that are larger, want %q", larger, test.larger)
				}
			})
		})
	}
}
