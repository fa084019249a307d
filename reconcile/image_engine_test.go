package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

const (
	debianURL    = "https://images.example/debian-13.qcow2"
	debianSum    = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bc822cd15d6c15b0f00a0"
	debianVolume = "local:import/debian-13-9f86d081884c.qcow2"
	downloads    = "POST /nodes/{node}/storage/{storage}/download-url"
	listings     = "GET /nodes/{node}/storage/{storage}/content"
)

// debianYAML is the manifest of an Image on a node.
func debianYAML(checksum, node string) string {
	return fmt.Sprintf(`apiVersion: proxmox.gitops/v1alpha1
kind: Image
metadata: {name: debian-13}
spec:
  url: %s
  checksum: sha256:%s
  storage: local
  nodes: [%s]
  content: import
`, debianURL, checksum, node)
}

// imported is the manifest of a machine that is created from the Image.
func imported() string {
	text := vmYAML("web-1", 201, "disks: {scsi0: {storage: local-lvm}}")
	return strings.Replace(text, "source: {clone: {name: tmpl-debian-12}}", "source: {image: {image: debian-13}}", 1)
}

// runLabWithImage runs a test with an agent that may download from a server with a disk image, and whose manifests want a machine that is made of it.
func runLabWithImage(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	runLab(t, nil, func(t *testing.T, l *lab) {
		role := pvesim.DefaultTokens()[1]
		l.sim.SetPrivileges(role.ID, []pvesim.ACL{{Path: "/", Privileges: append(slices.Clone(role.ACL[0].Privileges), "Sys.AccessNetwork")}})
		l.sim.Publish(debianURL, pvesim.WebFile{Size: 256 << 20, Format: "qcow2", VirtualSize: 2 << 30, Checksums: map[string]string{"sha256": debianSum}})
		servers, err := image.ParseServers([]string{"images.example"})
		l.ok(err)
		l.opts.AllowedServer = servers.Allow
		l.files["image.yaml"], l.files["web.yaml"] = debianYAML(debianSum, "pve1"), imported()
		test(t, l)
	})
}

// object returns the report of an object by its label.
func (l *lab) object(label string) report.Guest {
	l.Helper()
	for _, g := range l.engine.Report().Guests {
		if g.Label() == label {
			return g
		}
	}
	return report.Guest{}
}

// imageHasReason reports whether the Image of the lab has a condition with a reason.
func (l *lab) imageHasReason(reason reason.Name) bool {
	return slices.ContainsFunc(l.object("Image/debian-13").Conditions, func(c plan.Condition) bool { return c.Reason == reason })
}

// TestImageIsDownloadedBeforeItsGuest converges an Image and the machine that is created from it. The converged cluster gets no further write, and
// one listing a minute.
func TestImageIsDownloadedBeforeItsGuest(t *testing.T) {
	runLabWithImage(t, func(t *testing.T, l *lab) {
		l.push("a machine of an image", alice)
		stop := l.start()
		eventually(t, "the guest to wait for its image", func() bool {
			g := l.object("VirtualMachine/web-1")
			return slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool {
				return c.Type == plan.WaitsFor && strings.Contains(c.Message, "Image/debian-13")
			})
		})
		l.converge()
		want := journal.Downloaded{Name: "debian-13", Node: "pve1", Volume: debianVolume, Size: 256 << 20, File: "image.yaml"}
		got := l.journal.State().Downloaded[journal.FileOn{Node: "pve1", Volume: debianVolume}]
		if got.Task == "" {
			t.Error("got no task in the record, want its UPID")
		}
		got.Task = ""
		if got.Downloaded != want {
			t.Errorf("got record %+v, want %+v", got, want)
		}
		if got.Time.IsZero() {
			t.Error("got a record without its time")
		}
		if g := l.object("Image/debian-13"); g.Sync != report.Synced || g.Health != report.Healthy || g.VMID != 0 {
			t.Errorf("got %+v, want the image synced and healthy", g)
		}
		l.sim.ResetCounters()
		time.Sleep(10 * time.Minute)
		if c := l.sim.Counters(); c.Writes != 0 || c.Routes[listings] > 11 {
			t.Errorf("got %d writes and %d listings in ten minutes, want none and one a minute", c.Writes, c.Routes[listings])
		}
		stop()
		defer l.start()()
		l.converge()
		if c := l.sim.Counters(); c.Writes != 0 {
			t.Errorf("got %d writes after a restart, want none: %v", c.Writes, c.Routes)
		}
	})
}

// TestImageOfAnotherChecksumIsAnotherFile changes the checksum: the file of the first one stays.
func TestImageOfAnotherChecksumIsAnotherFile(t *testing.T) {
	runLabWithImage(t, func(t *testing.T, l *lab) {
		l.push("an image", alice)
		defer l.start()()
		l.converge()
		newer := strings.Repeat("ab", 32)
		l.sim.Publish(debianURL, pvesim.WebFile{Size: 1 << 20, Format: "qcow2", Checksums: map[string]string{"sha256": newer}})
		l.files["image.yaml"] = debianYAML(newer, "pve1")
		l.push("a newer image", alice)
		l.converge()
		if got := len(l.journal.State().Downloaded); got != 2 {
			t.Errorf("got %d files recorded, want both", got)
		}
		if got := l.sim.Effects(201, pvesim.Created); got != 1 {
			t.Errorf("got the machine created %d times, want once: an existing guest has no image", got)
		}
	})
}

// TestUnusedImagesCostNothing counts the listings of a cluster without Images.
func TestUnusedImagesCostNothing(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("no image", alice)
		defer l.start()()
		l.converge()
		l.sim.ResetCounters()
		time.Sleep(5 * time.Minute)
		if got := l.sim.Counters().Routes[listings]; got != 0 {
			t.Errorf("got %d listings of files, want none", got)
		}
	})
}

// TestForeignFileIsNeverUsed finds a file that the agent did not download, or that has changed since. It is neither used nor overwritten.
func TestForeignFileIsNeverUsed(t *testing.T) {
	t.Parallel()
	tests := map[string]func(l *lab){
		"without_record": func(l *lab) { l.ok(l.sim.AddVolume(debianVolume, 5<<20)) },
		"another_size": func(l *lab) {
			l.files["web.yaml"] = ""
			l.push("the image alone", alice)
			l.once()
			l.ok(l.sim.RemoveVolume(debianVolume))
			l.ok(l.sim.AddVolume(debianVolume, 5<<20))
			l.files["web.yaml"] = imported()
			l.sim.ResetCounters()
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithImage(t, func(t *testing.T, l *lab) {
				prepare(l)
				l.push("a machine of an image", alice)
				defer l.start()()
				eventually(t, "the condition", func() bool { return l.imageHasReason(reason.NotManaged) })
				time.Sleep(10 * time.Minute)
				if g := l.object("Image/debian-13"); g.Sync != report.SyncUnknown {
					t.Errorf("got %s, want unknown", g.Sync)
				}
				if c := l.sim.Counters(); c.Routes[downloads] != 0 || l.sim.Effects(201, pvesim.Created) != 0 {
					t.Errorf("got %d downloads and %d machines, want neither", c.Routes[downloads], l.sim.Effects(201, pvesim.Created))
				}
				l.ok(l.sim.RemoveVolume(debianVolume))
				l.converge()
			})
		})
	}
}

// TestServersOfImagesAreAllowedByTheHost refuses a server that the host's config does not list.
func TestServersOfImagesAreAllowedByTheHost(t *testing.T) {
	runLabWithImage(t, func(t *testing.T, l *lab) {
		l.opts.AllowedServer = nil
		l.push("an image", alice)
		defer l.start()()
		eventually(t, "the condition", func() bool { return l.imageHasReason(reason.NotAllowed) })
		time.Sleep(10 * time.Minute)
		if got := l.sim.Counters().Routes[downloads]; got != 0 {
			t.Errorf("got %d downloads from a server that is not allowed, want none", got)
		}
	})
}

// TestFailedDownloadIsRetried lets downloads fail in each way that the server or the storage can cause. Nothing is created from half a file, and
// the agent downloads it when the cause is gone.
func TestFailedDownloadIsRetried(t *testing.T) {
	t.Parallel()
	good := pvesim.WebFile{Size: 256 << 20, Format: "qcow2", VirtualSize: 2 << 30, Checksums: map[string]string{"sha256": debianSum}}
	tests := map[string]func(sim *pvesim.Sim, f *pvesim.WebFile){
		"cut":     func(_ *pvesim.Sim, f *pvesim.WebFile) { f.Cut = 100 << 20 },
		"missing": func(_ *pvesim.Sim, f *pvesim.WebFile) { f.Status = "404 Not Found" },
		"wrong_checksum": func(_ *pvesim.Sim, f *pvesim.WebFile) {
			f.Checksums = map[string]string{"sha256": strings.Repeat("0", 64)}
		},
		"another_format": func(_ *pvesim.Sim, f *pvesim.WebFile) { f.Format = "raw" },
		"full_storage":   func(sim *pvesim.Sim, _ *pvesim.WebFile) { sim.FillStorage("local") },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithImage(t, func(t *testing.T, l *lab) {
				bad := good
				spoil(l.sim, &bad)
				l.sim.Publish(debianURL, bad)
				l.push("a machine of an image", alice)
				defer l.start()()
				eventually(t, "the failure", func() bool { return l.imageHasReason(reason.Name(cluster.OpDownload)) })
				if got := l.sim.Effects(201, pvesim.Created); got != 0 {
					t.Errorf("got %d machines of a failed download, want none", got)
				}
				l.sim.Publish(debianURL, good)
				l.sim.DrainStorage("local")
				l.converge()
			})
		})
	}
}

// TestScopeOfSignersIncludesImages changes an Image as wanda, who may change only the guests and Images that the policy names for her.
func TestScopeOfSignersIncludesImages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		may    []string
		within bool
	}{
		"guests_only":   {[]string{"VirtualMachine/web-*"}, false},
		"another_image": {[]string{"VirtualMachine/web-*", "Image/alpine-*"}, false},
		"image_only":    {[]string{"Image/debian-*"}, false}, // the source of web-1 contains the name of the file
		"both":          {[]string{"VirtualMachine/web-*", "Image/debian-*"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithImage(t, func(t *testing.T, l *lab) {
				limited := wandaMay(nil, nil)
				limited.Guests = test.may
				l.trustSigners(aliceMay(), limited)
				l.push("a machine of an image", alice)
				defer l.start()()
				l.converge()
				newSum := strings.Repeat("ab", 32)
				l.sim.Publish(debianURL, pvesim.WebFile{Size: 300 << 20, Format: "qcow2", VirtualSize: 2 << 30, Checksums: map[string]string{"sha256": newSum}})
				l.files["image.yaml"] = debianYAML(newSum, "pve1")
				l.push("a newer image", wanda)
				if test.within {
					l.converge()
					return
				}
				if r := l.refused(); r.Reason != report.RefusedScope {
					t.Errorf("got reason %s, want %s", r.Reason, report.RefusedScope)
				}
				if got := l.sim.Counters().Routes[downloads]; got != 1 {
					t.Errorf("got %d downloads, want only the first one", got)
				}
			})
		})
	}
}

// TestDownloadWithoutReply loses the reply to the call, before and after it acts. The file is downloaded once.
func TestDownloadWithoutReply(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault pvesim.Fault
		calls int64
	}{
		"dropped_after":  {pvesim.Fault{Kind: pvesim.DropAfter}, 1},
		"dropped_before": {pvesim.Fault{Kind: pvesim.DropBefore}, 2},
		"garbage":        {pvesim.Fault{Kind: pvesim.InvalidJSON, AfterActing: true}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithImage(t, func(t *testing.T, l *lab) {
				test.fault.Method, test.fault.Path = "POST", "/download-url$"
				l.ok(l.sim.Inject(test.fault))
				l.push("a machine of an image", alice)
				defer l.start()()
				l.converge()
				if got := int64(l.sim.Counters().Routes[downloads]); got != test.calls {
					t.Errorf("got %d calls, want %d", got, test.calls)
				}
				if open := l.journal.State().Open; len(open) != 0 {
					t.Errorf("got open steps %+v, want none", open)
				}
			})
		})
	}
}

// TestDownloadOutlivesTheAgent ends the agent while the node downloads. The next start waits for the same task.
func TestDownloadOutlivesTheAgent(t *testing.T) {
	runLabWithImage(t, func(t *testing.T, l *lab) {
		l.push("a machine of an image", alice)
		stop := l.start()
		eventually(t, "the call", func() bool { return l.sim.Counters().Routes[downloads] == 1 })
		stop()
		l.open()
		if open := l.journal.State().Open; len(open) > 1 {
			t.Errorf("got open steps %+v, want at most the download", open)
		}
		l.close()
		defer l.start()()
		l.converge()
		if got := l.sim.Counters().Routes[downloads]; got != 1 {
			t.Errorf("got %d downloads, want one", got)
		}
		if got := l.journal.State().Downloaded[journal.FileOn{Node: "pve1", Volume: debianVolume}]; got.Size != 256<<20 {
			t.Errorf("got record %+v, want that of the download", got)
		}
	})
}

// TestUnreadFilesAreUnknown lets no listing succeed: nothing is downloaded.
func TestUnreadFilesAreUnknown(t *testing.T) {
	runLabWithImage(t, func(t *testing.T, l *lab) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "/storage/local/content", Kind: pvesim.ErrorText, Text: "storage 'local' is not online", Times: -1}))
		l.push("a machine of an image", alice)
		defer l.start()()
		eventually(t, "the condition", func() bool { return l.imageHasReason(reason.NotObserved) })
		if got := l.sim.Counters().Routes[downloads]; got != 0 {
			t.Errorf("got %d downloads without a listing, want none", got)
		}
		if got := l.object("Image/debian-13").Sync; got != report.SyncUnknown {
			t.Errorf("got the image %s, want unknown", got)
		}
	})
}

// TestDownloadShowsItsProgress reports how far a download is, also after a restart of the agent, and nothing once it has ended.
func TestDownloadShowsItsProgress(t *testing.T) {
	runLabWithImage(t, func(t *testing.T, l *lab) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/download-url$", Kind: pvesim.TaskNeverEnds}))
		delete(l.files, "web.yaml")
		l.push("an image", alice)
		progresses := func() bool {
			g := l.object("Image/debian-13")
			return g.Operation == report.Busy && g.Progress == 50 && g.OperationText() == "Running 50%"
		}
		stop := l.start()
		eventually(t, "the progress of the download", progresses)
		stop()
		defer l.start()()
		eventually(t, "the progress after a restart", progresses)
		l.endTasks()
		l.converge()
		time.Sleep(time.Minute)
		if g := l.object("Image/debian-13"); g.Progress != 0 {
			t.Errorf("got a progress of %d %%, want none after the end", g.Progress)
		}
	})
}

// runLabWithImageOnNodes runs a test with two nodes that have the given storages, an Image on pve1, and an agent that may download it.
func runLabWithImageOnNodes(t *testing.T, storages []pvesim.Storage, test func(t *testing.T, l *lab)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}, Storages: storages}))
		l.files["cluster.yaml"] = clusterYAML
		role := pvesim.DefaultTokens()[1]
		l.sim.SetPrivileges(role.ID, []pvesim.ACL{{Path: "/", Privileges: append(slices.Clone(role.ACL[0].Privileges), "Sys.AccessNetwork", "Datastore.Allocate")}})
		l.sim.Publish(debianURL, pvesim.WebFile{Size: 256 << 20, Format: "qcow2", VirtualSize: 2 << 30, Checksums: map[string]string{"sha256": debianSum}})
		servers, err := image.ParseServers([]string{"images.example"})
		l.ok(err)
		l.opts.AllowedServer = servers.Allow
		l.files["image.yaml"] = debianYAML(debianSum, "pve1")
		test(t, l)
	})
}

// TestNodesOfAnImageShareItsStorage lists two nodes of a shared storage: one of them downloads the file, guests on both are created from it, the other one takes over
// while the first is offline, and the file is deleted once, when no node of the Image needs it.
func TestNodesOfAnImageShareItsStorage(t *testing.T) {
	storages := []pvesim.Storage{
		{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,vztmpl,iso,import,snippets,backup"},
		{ID: "nas", Type: "dir", Path: "/mnt/nas", Content: "images,rootdir,import,iso,vztmpl", Shared: true},
	}
	runLabWithImageOnNodes(t, storages, func(t *testing.T, l *lab) {
		onNAS := func(checksum, nodes string) string {
			return strings.NewReplacer("storage: local", "storage: nas\n  prune: true", "nodes: [pve1]", "nodes: ["+nodes+"]").Replace(debianYAML(checksum, "pve1"))
		}
		first := strings.ReplaceAll(imported(), "local-lvm", "local")
		l.files["image.yaml"], l.files["web.yaml"] = onNAS(debianSum, "pve1, pve2"), first
		l.files["web-2.yaml"] = strings.NewReplacer("web-1", "web-2", "201", "202", "pve1", "pve2").Replace(first)
		l.push("an image that two nodes share", alice)
		defer l.start()()
		l.converge()
		isSettled := func() bool {
			g := l.object("Image/debian-13")
			return g.Sync == report.Synced && g.Health == report.Healthy && len(g.Conditions) == 0
		}
		if !isSettled() || l.sim.Counters().Routes[downloads] != 1 {
			t.Errorf("got %+v and %d downloads, want the image synced and healthy after one", l.object("Image/debian-13"), l.sim.Counters().Routes[downloads])
		}
		l.sim.StopNode("pve1")
		time.Sleep(10 * time.Minute)
		if !isSettled() || l.sim.Counters().Routes[downloads] != 1 {
			t.Errorf("while pve1 is offline: got %+v and %d downloads, want the image as before", l.object("Image/debian-13"), l.sim.Counters().Routes[downloads])
		}
		l.sim.StartNode("pve1")
		delete(l.files, "web.yaml") // so that nothing in the repository needs pve1
		l.files["image.yaml"] = onNAS(debianSum, "pve2")
		l.push("keep it on pve2", alice)
		time.Sleep(10 * time.Minute)
		if got := l.sim.Counters().Routes; got[downloads] != 1 || got[deletions] != 0 {
			t.Errorf("kept on pve2 alone: got %d downloads and %d deletions, want one and none: it is the same file", got[downloads], got[deletions])
		}
		l.sim.Publish(debianURL, pvesim.WebFile{Size: 1 << 20, Format: "qcow2", VirtualSize: 2 << 30, Checksums: map[string]string{"sha256": newerSum}})
		l.files["image.yaml"] = onNAS(newerSum, "pve1, pve2")
		l.push("a newer image", alice)
		time.Sleep(10 * time.Minute)
		if got := l.sim.Counters().Routes; got[downloads] != 2 || got[deletions] != 1 || len(l.journal.State().Downloaded) != 1 {
			t.Errorf("a newer image: got %d downloads, %d deletions and the records %+v, want two, one, and the new file", got[downloads], got[deletions], l.journal.State().Downloaded)
		}
	})
}

// TestImageWithoutNodesOnAStorageOfEachNode leaves out the nodes though they share no storage: a guest on the node without the file waits, and is not created there in
// vain. It is created after the manifest lists its node.
func TestImageWithoutNodesOnAStorageOfEachNode(t *testing.T) {
	storages := []pvesim.Storage{{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,vztmpl,iso,import,snippets,backup"}}
	runLabWithImageOnNodes(t, storages, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = strings.NewReplacer("pve1", "pve2", "local-lvm", "local").Replace(imported())
		l.files["image.yaml"] = strings.Replace(debianYAML(debianSum, "pve1"), "  nodes: [pve1]\n", "", 1)
		l.push("an image without nodes", alice)
		defer l.start()()
		time.Sleep(time.Hour)
		if got := l.object("Image/debian-13"); got.Sync != report.Synced || !l.imageHasReason(reason.OtherNode) {
			t.Errorf("got %+v, want the image in sync, with a condition", got)
		}
		waits := slices.ContainsFunc(l.object("VirtualMachine/web-1").Conditions, func(c plan.Condition) bool {
			return c.Type == plan.WaitsFor && strings.Contains(c.Message, "kept on pve1 alone") && strings.Contains(c.Message, "spec.nodes")
		})
		if got := l.sim.Counters().Routes["POST /nodes/{node}/qemu"]; !waits || got != 0 {
			t.Errorf("got %+v and %d tries to create the guest, want it to wait", l.object("VirtualMachine/web-1"), got)
		}
		l.files["image.yaml"] = debianYAML(debianSum, "pve2")
		l.push("an image with nodes", alice)
		l.converge()
		if got := l.sim.Effects(201, pvesim.Created); got != 1 || l.imageHasReason(reason.OtherNode) {
			t.Errorf("got the guest created %d times and %+v, want once and no condition", got, l.object("Image/debian-13"))
		}
	})
}

// TestDecompressedImageStaysInSync downloads a file that Proxmox unpacks. Its checksum is that of what the server sends, and its size is another one afterwards: it is recorded
// with the size that the node lists, and stays in sync, also after a restart.
func TestDecompressedImageStaysInSync(t *testing.T) {
	runLabWithImage(t, func(t *testing.T, l *lab) {
		const url, volume = "https://images.example/debian.iso.gz", "local:iso/debian-13-4a6b0d1c2e3f.iso"
		sum := "4a6b0d1c2e3f" + strings.Repeat("0", 52)
		l.sim.Publish(url, pvesim.WebFile{Size: 100 << 20, Compression: "gz", Unpacked: 300 << 20, Checksums: map[string]string{"sha256": sum}})
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.files["image.yaml"] = strings.NewReplacer(debianURL, url, debianSum, sum, "content: import", "content: iso\n  decompression: gz").Replace(l.files["image.yaml"])
		l.push("a compressed image", alice)
		stop := l.start()
		l.converge()
		record := l.journal.State().Downloaded[journal.FileOn{Node: "pve1", Volume: volume}]
		if record.Name != "debian-13" || record.Size != 300<<20 {
			t.Errorf("got record %+v of %v, want the size of the unpacked file", record, l.journal.State().Downloaded)
		}
		l.sim.ResetCounters()
		time.Sleep(time.Hour)
		stop()
		defer l.start()()
		l.converge()
		time.Sleep(time.Hour)
		if g := l.object("Image/debian-13"); g.Sync != report.Synced || len(g.Conditions) != 0 || l.sim.Counters().Writes != 0 {
			t.Errorf("got %+v and %d writes, want the image in sync and none", g, l.sim.Counters().Writes)
		}
	})
}

// TestIncidentDecompressedDiskImageOfARevisionInForce resumes a revision that an older release accepted, with a disk image that Proxmox would have to decompress, which it
// never does. The revision stays readable, the Image says what is wrong with its manifest, and nothing is downloaded. A new revision with it is refused.
func TestIncidentDecompressedDiskImageOfARevisionInForce(t *testing.T) {
	runLabWithImage(t, func(t *testing.T, l *lab) {
		valid := l.files["image.yaml"]
		l.files["web.yaml"] = vmYAML("web-1", 201, "description: first")
		delete(l.files, "image.yaml")
		l.push("without an image", alice)
		stop := l.start()
		l.converge()
		l.files["image.yaml"] = strings.NewReplacer(debianURL, debianURL+".gz", "content: import", "content: import\n  decompression: gz").Replace(valid)
		l.files["web.yaml"], l.files["app.yaml"] = vmYAML("web-1", 201, "description: second"), strings.NewReplacer("web-1", "app-1", "201", "203").Replace(imported())
		l.push("accepted by an older release only", alice)
		eventually(l, "a refusal", func() bool { return l.refused().Commit == l.repo.Tip })
		if got := l.refused().Error; !strings.Contains(got, "image.yaml:10:18: Image debian-13: decompression: ") || !strings.Contains(got, "leave decompression out") {
			t.Errorf("got refusal %q, want the position and the way out", got)
		}
		stop()
		l.acceptAsOlderRelease()
		l.rareTicks()
		stop = l.start()
		eventually(l, "the description", func() bool { return strings.HasPrefix(l.sim.Value(201, "description"), "second") })
		time.Sleep(24 * time.Hour)
		got := l.object("Image/debian-13")
		blocked := slices.ContainsFunc(got.Conditions, func(c plan.Condition) bool {
			return c.Type == plan.Blocked && c.Reason == reason.Impossible && strings.Contains(c.Message, ": image.yaml:1:1: spec.decompression: ") && strings.Contains(c.Hint, "leave decompression out")
		})
		if n := l.sim.Counters().Routes[downloads]; !blocked || n != 0 {
			t.Errorf("got %+v and %d tries to download, want the way out and none", got, n)
		}
		if warnings := l.engine.Report().Source.Accepted.Warnings; len(warnings) != 1 || !strings.HasPrefix(warnings[0], "image.yaml:10:18: Image debian-13: decompression: accepted before, ") {
			t.Errorf("got warnings %q, want one at the place", warnings)
		}
		l.push("an order, which changes no manifest", alice)
		eventually(l, "the order", func() bool { return l.engine.Report().Source.Accepted.Commit == l.repo.Tip })
		stop()
		l.wandaMay(nil, "Image/debian-13")
		defer l.start()()
		l.files["web.yaml"] = vmYAML("web-1", 201, "description: third")
		l.push("by alice, refused because of the Image", alice)
		l.cure(reason.Decompress, l.saysOf("Image/debian-13"), func([]string) {
			l.files["image.yaml"] = valid
			l.push("corrected by wanda, who may change the Image alone", wanda)
		})
		l.converge()
		if got := l.sim.Effects(203, pvesim.Created); got != 1 {
			t.Errorf("got the guest created %d times, want once", got)
		}
	})
}
