package proxmox

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/proxmox/encode"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

const (
	imageURL = "https://images.example/debian-13.qcow2"
	imageSum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bc822cd15d6c15b0f00a0"
)

// download returns the call of a download with one parameter changed: "name=value".
func download(change string) cluster.Call {
	params := map[string]string{
		"storage": "local", "content": "import", "filename": "debian-13-9f86d081884c.qcow2", "url": imageURL, "checksum": imageSum, "checksum-algorithm": "sha256",
	}
	if name, value, changed := strings.Cut(change, "="); changed {
		params[name] = value
	}
	return cluster.Call{Op: cluster.OpDownload, Node: "pve1", Params: params}
}

// deletion returns the call that deletes the downloaded file, with one parameter changed: "name=value".
func deletion(change string) cluster.Call {
	params := map[string]string{"storage": "local", "content": "import", "filename": "debian-13-9f86d081884c.qcow2"}
	if name, value, changed := strings.Cut(change, "="); changed {
		params[name] = value
	}
	return cluster.Call{Op: cluster.OpDeleteFile, Node: "pve1", Params: params}
}

// downloads lets the token of an agent download files, with one privilege left out.
func downloads(sim *pvesim.Sim, without string) {
	all := []string{"Datastore.AllocateTemplate", "Datastore.Audit", "Sys.AccessNetwork", "Sys.Audit"}
	sim.SetPrivileges(simToken, []pvesim.ACL{{Path: "/", Privileges: slices.DeleteFunc(all, func(p string) bool { return p == without })}})
}

func TestDownloadedFileIsListed(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		downloads(sim, "")
		sim.Publish(imageURL, pvesim.WebFile{Size: 64 << 20, Format: "qcow2", Checksums: map[string]string{"sha256": imageSum}})
		at := cluster.FilePlace{Node: "pve1", Storage: "local", Content: "import"}
		before, err := client.Files(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // Proxmox accepts the file that is there already
			upid, err := client.Do(t.Context(), download(""), nil)
			if err != nil {
				t.Fatal(err)
			}
			if task, err := client.Wait(t.Context(), upid); err != nil || !task.OK() {
				t.Fatalf("got task %+v, error %v, want a success", task, err)
			}
		}
		want := maps.Clone(before)
		want["local:import/debian-13-9f86d081884c.qcow2"] = 64 << 20
		got, err := client.Files(t.Context(), at)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("files: error %v, (-want +got)\n%s", err, diff)
		}
		tasks, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve1", ID: "debian-13-9f86d081884c.qcow2", Types: download("").TaskTypes()})
		if err != nil || len(tasks) != 2 {
			t.Errorf("got tasks %v, error %v, want the two downloads", tasks, err)
		}
		if tasks, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve1", ID: "other.qcow2", Types: download("").TaskTypes()}); err != nil || len(tasks) != 0 {
			t.Errorf("got tasks %v, error %v, want none about another file", tasks, err)
		}
	})
}

func TestDownloadOfAnotherFileFailsInItsTask(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		downloads(sim, "")
		sim.Publish(imageURL, pvesim.WebFile{Size: 1 << 20, Format: "qcow2", Checksums: map[string]string{"sha256": strings.Repeat("0", 64)}})
		upid, err := client.Do(t.Context(), download(""), nil)
		if err != nil {
			t.Fatal(err)
		}
		task, err := client.Wait(t.Context(), upid)
		if err != nil || task.Outcome != cluster.TaskFailed {
			t.Errorf("got task %+v, error %v, want a failure", task, err)
		}
	})
}

// A refusal leaves no doubt whether the call acts.
func TestDownloadNeedsTwoPrivileges(t *testing.T) {
	for _, without := range []string{"Datastore.AllocateTemplate", "Sys.AccessNetwork"} {
		simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
			downloads(sim, without)
			if _, err := client.Do(t.Context(), download(""), nil); !errors.Is(err, cluster.ErrDenied) || errors.Is(err, cluster.ErrOutcomeUnknown) {
				t.Errorf("without %s: got error %v, want ErrDenied alone", without, err)
			}
		})
	}
}

func TestDownloadsThatAreNeverSent(t *testing.T) {
	tests := map[string]string{
		"no_checksum":   "checksum=",
		"no_algorithm":  "checksum-algorithm=",
		"folder":        "filename=../debian.qcow2",
		"blank":         "filename=debian 13.qcow2",
		"other_letters": "filename=débian.qcow2",
		"storage":       "storage=../local",
		"content":       "content=images",
		"scheme":        "url=file:///etc/shadow",
		"credentials":   "url=https://me:secret@images.example/debian.qcow2",
		"line_break":    "url=https://images.example/a\nb",
		"other_key":     "verify-certificates=0",
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			if _, _, err := encode.Call(download(change)); err == nil {
				t.Errorf("got the call with %s accepted, want an error", change)
			}
		})
	}
	elsewhere := download("")
	elsewhere.Node = "pve1/../pve2"
	if _, _, err := encode.Call(elsewhere); err == nil {
		t.Error("got the call to a path accepted as a node, want an error")
	}
}

func TestFilesAreListedOnlyAtAPlace(t *testing.T) {
	client := inProcess(t, byPath(t, nil))
	for _, at := range []cluster.FilePlace{{}, {Node: "pve1", Storage: "local", Content: "images"}, {Node: "pve1", Storage: "a/b", Content: "iso"}, {Node: "..", Storage: "local", Content: "iso"}} {
		if _, err := client.Files(t.Context(), at); err == nil {
			t.Errorf("got files at %+v, want an error", at)
		}
	}
	if call := download(""); call.Kind != guest.Kind("") || call.VMID != 0 {
		t.Errorf("got a download about guest %s %d, want none", call.Kind, call.VMID)
	}
}

func TestDeletedFileIsListedNoMore(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		sim.SetPrivileges(simToken, []pvesim.ACL{{Path: "/", Privileges: []string{"Datastore.Audit", "Sys.Audit"}}})
		if err := sim.AddVolume(deletion("").File(), 64<<20); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Do(t.Context(), deletion(""), nil); !errors.Is(err, cluster.ErrDenied) || errors.Is(err, cluster.ErrOutcomeUnknown) {
			t.Errorf("without Datastore.Allocate: got error %v, want ErrDenied alone", err)
		}
		sim.SetPrivileges(simToken, []pvesim.ACL{{Path: "/", Privileges: []string{"Datastore.Allocate", "Datastore.Audit", "Sys.Audit"}}})
		for range 2 { // a missing file is no error
			upid, err := client.Do(t.Context(), deletion(""), nil)
			if err != nil {
				t.Fatal(err)
			}
			if task, err := client.Wait(t.Context(), upid); err != nil || !task.OK() {
				t.Fatalf("got task %+v, error %v, want a success", task, err)
			}
		}
		files, err := client.Files(t.Context(), cluster.FilePlace{Node: "pve1", Storage: "local", Content: "import"})
		if _, listed := files[deletion("").File()]; err != nil || listed {
			t.Errorf("got files %v, error %v, want the file gone", files, err)
		}
		tasks, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve1", ID: "local", Types: deletion("").TaskTypes()})
		if err != nil || len(tasks) != 2 {
			t.Errorf("got tasks %v, error %v, want the two deletions", tasks, err)
		}
	})
}

func TestDeletionsThatAreNeverSent(t *testing.T) {
	for name, change := range map[string]string{
		"folder": "filename=../debian.qcow2", "no_file": "filename=", "storage": "storage=../local", "content": "content=images", "backup": "content=backup", "other_key": "delay=5",
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := encode.Call(deletion(change)); err == nil {
				t.Errorf("got the call with %s accepted, want an error", change)
			}
		})
	}
}
