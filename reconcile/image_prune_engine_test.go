package reconcile_test

import (
	"fmt"
	"net/http"
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
	"gitops-agent/reconcile/volumes"
)

const (
	newerSum  = "abababababababababababababababababababababababababababababababab"
	isoVolume = "local:iso/debian-13-9f86d081884c.iso"
	newerISO  = "local:iso/debian-13-abababababab.iso"
	deletions = "DELETE /nodes/{node}/storage/{storage}/content/{volume}"
)

// isoYAML is the manifest of an Image whose former files are deleted, on nodes.
func isoYAML(checksum string, nodes ...string) string {
	return fmt.Sprintf(`apiVersion: proxmox.gitops/v1alpha1
kind: Image
metadata: {name: debian-13}
spec:
  url: https://images.example/debian-13.iso
  checksum: sha256:%s
  storage: local
  nodes: [%s]
  content: iso
  prune: true
`, checksum, strings.Join(nodes, ", "))
}

// runLabWithPrune runs a test with two nodes, an Image that was downloaded to pve1 and whose former files are deleted, and a guest that does not use it.
func runLabWithPrune(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	runLabWithPruneOn(t, []string{"pve1", "pve2"}, test)
}

// runLabWithPruneOn is runLabWithPrune with other nodes, of which one is pve1.
func runLabWithPruneOn(t *testing.T, nodes []string, test func(t *testing.T, l *lab)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: nodes}))
		l.files["cluster.yaml"] = clusterYAML
		role := pvesim.DefaultTokens()[1]
		l.sim.SetPrivileges(role.ID, []pvesim.ACL{{Path: "/", Privileges: append(slices.Clone(role.ACL[0].Privileges), "Sys.AccessNetwork", "Datastore.Allocate")}})
		l.publishISO(debianSum)
		servers, err := image.ParseServers([]string{"images.example"})
		l.ok(err)
		l.opts.AllowedServer = servers.Allow
		l.files["image.yaml"], l.files["keep.yaml"] = isoYAML(debianSum, "pve1"), vmYAML("keep-1", 209)
		l.push("an image", alice)
		if r := l.once(); !r.Converged {
			t.Fatalf("got %+v, want a first convergence", r)
		}
		test(t, l)
	})
}

// publishISO puts a file with a checksum on the server.
func (l *lab) publishISO(checksum string) {
	l.sim.Publish("https://images.example/debian-13.iso", pvesim.WebFile{Size: 64 << 20, Checksums: map[string]string{"sha256": checksum}})
}

// newISO changes the checksum of the Image.
func (l *lab) newISO(nodes ...string) {
	l.Helper()
	l.publishISO(newerSum)
	l.files["image.yaml"] = isoYAML(newerSum, nodes...)
	l.push("a newer image", alice)
}

// hasFile reports whether a node of the simulator has a file, as a person sees it.
func (l *lab) hasFile(node, volume string) bool {
	l.Helper()
	files, err := l.cluster.Files(l.Context(), cluster.FilePlace{Node: node, Storage: "local", Content: "iso"})
	l.ok(err)
	_, exists := files[volume]
	return exists
}

// wantFiles compares the files of the Image on pve1.
func (l *lab) wantFiles(former, newer bool) {
	l.Helper()
	if l.hasFile("pve1", isoVolume) != former || l.hasFile("pve1", newerISO) != newer {
		l.Errorf("got former file %t and newer file %t, want %t and %t", l.hasFile("pve1", isoVolume), l.hasFile("pve1", newerISO), former, newer)
	}
}

// deleted returns how often a file was deleted by a call.
func (l *lab) deleted(volume string) int {
	return l.sim.Counters().Objects["/storage/"+volume][http.MethodDelete]
}

// remainsISO lets time pass and wants the former file on pve1 to stay, without a call.
func (l *lab) remainsISO() {
	l.Helper()
	time.Sleep(30 * time.Minute)
	if !l.hasFile("pve1", isoVolume) || l.sim.Counters().Routes[deletions] != 0 {
		l.Errorf("got the file there: %t, and %d deletions, want it untouched", l.hasFile("pve1", isoVolume), l.sim.Counters().Routes[deletions])
	}
}

// TestFormerFileIsDeleted lets a file become a former one in each way. It is deleted once, and the converged cluster gets no further write.
func TestFormerFileIsDeleted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(l *lab)
		newer  bool
	}{
		"checksum": {func(l *lab) { l.newISO("pve1") }, true},
		"manifest": {func(l *lab) { delete(l.files, "image.yaml"); l.push("no image", alice) }, false},
		"node":     {func(l *lab) { l.files["image.yaml"] = isoYAML(debianSum, "pve2"); l.push("on another node", alice) }, false},
		"renamed": {func(l *lab) {
			l.files["image.yaml"] = strings.Replace(isoYAML(debianSum, "pve1"), "name: debian-13}", "name: trixie}", 1)
			l.push("another name", alice)
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithPrune(t, func(t *testing.T, l *lab) {
				l.ok(l.sim.AddVolume("local:iso/by-hand-9f86d081884c.iso", 1<<20))
				defer l.start()()
				test.change(l)
				l.converge()
				eventually(t, "the deletion", func() bool { return !l.hasFile("pve1", isoVolume) })
				l.converge()
				l.wantFiles(false, test.newer)
				if got := l.deleted(isoVolume); got != 1 {
					t.Errorf("got %d deletions, want one", got)
				}
				if !l.hasFile("pve1", "local:iso/by-hand-9f86d081884c.iso") {
					t.Error("got the file of a person deleted, want it untouched")
				}
				if record, recorded := l.journal.State().Downloaded[journal.FileOn{Node: "pve1", Volume: isoVolume}]; recorded {
					t.Errorf("got the record %+v, want none", record)
				}
				l.sim.ResetCounters()
				time.Sleep(10 * time.Minute)
				if c := l.sim.Counters(); c.Writes != 0 {
					t.Errorf("got %d writes to a converged cluster, want none: %v", c.Writes, c.Routes)
				}
			})
		})
	}
}

// TestFileStaysWithoutPrune removes the manifest of an Image that did not say prune: true, or no longer did.
func TestFileStaysWithoutPrune(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		defer l.start()()
		l.files["image.yaml"] = strings.Replace(isoYAML(debianSum, "pve1"), "prune: true", "prune: false", 1)
		l.push("keep the files", alice)
		l.converge()
		delete(l.files, "image.yaml")
		l.push("no image", alice)
		l.converge()
		l.sim.ResetCounters()
		l.remainsISO()
		if got := l.sim.Counters().Routes[listings]; got > 1 { // that of the test
			t.Errorf("got %d listings without an Image, want none", got-1)
		}
	})
}

// TestUsedFileStays lets something use the former file. It stays, with a reason, and is deleted when the use has ended.
func TestUsedFileStays(t *testing.T) {
	t.Parallel()
	inDrive := func(l *lab) { l.ok(l.sim.Edit(209, "ide2", isoVolume+",media=cdrom")) }
	emptied := func(l *lab) { l.ok(l.sim.Edit(209, "ide2", "none,media=cdrom")) }
	pending := func(text string) func(l *lab) {
		return func(l *lab) {
			l.ok(l.sim.EditFile(209, func(config string) string {
				config, _, _ = strings.Cut(config, "[PENDING]")
				if text == "" {
					return config
				}
				return config + "[PENDING]\n" + text + "\n"
			}))
		}
	}
	inSnapshot := func(section string) func(l *lab) {
		return func(l *lab) {
			l.ok(l.sim.EditFile(209, func(config string) string {
				config, _, _ = strings.Cut(config, "\n[before]")
				return config + section
			}))
		}
	}
	tests := map[string]struct {
		use, end func(l *lab)
		why      string
	}{
		"stopped_guest": {inDrive, emptied, string(reason.InUse)},
		"pending":       {pending("ide2: " + isoVolume + ",media=cdrom"), pending(""), string(reason.InUse)},
		"path": {
			func(l *lab) {
				l.ok(l.sim.Edit(209, "args", "-cdrom /var/lib/vz/template/iso/debian-13-9f86d081884c.iso"))
			},
			func(l *lab) { l.ok(l.sim.Edit(209, "args", "-no-acpi")) }, string(reason.InUse),
		},
		"snapshot": {
			inSnapshot("\n[before]\nide2: " + isoVolume + ",media=cdrom\nname: keep-1\nsnaptime: 946684800\n"), inSnapshot("\n"), string(reason.InUse),
		},
		"unmanaged_guest": {
			func(l *lab) {
				_, err := l.sim.AddVM(pvesim.Guest{VMID: 1000, Config: "name: other\nide2: " + isoVolume + ",media=cdrom\n"})
				l.ok(err)
			},
			func(l *lab) { l.ok(l.sim.RemoveGuest(1000)) }, string(reason.InUse),
		},
		"template": {
			func(l *lab) {
				_, err := l.sim.AddTemplate(pvesim.Guest{VMID: 9001, Config: "name: tmpl\nscsi0: local:9001/vm-9001-disk-0.qcow2,size=1G\nide2: " + isoVolume + ",media=cdrom\n"})
				l.ok(err)
			},
			func(l *lab) { l.ok(l.sim.RemoveGuest(9001)) }, string(reason.InUse),
		},
		"partly_created": {
			func(l *lab) {
				_, err := l.sim.AddVM(pvesim.Guest{VMID: 1000, Config: "lock: create\n"})
				l.ok(err)
			},
			func(l *lab) { l.ok(l.sim.RemoveGuest(1000)) }, string(reason.NotObserved),
		},
		"manifest": {
			func(l *lab) {
				l.files["keep.yaml"] = strings.Replace(vmYAML("keep-1", 209), "source: {clone: {name: tmpl-debian-12}}", "source: {iso: {volume: \""+isoVolume+"\"}}\n  disks: {scsi0: {storage: local-lvm, size: 1Gi}}", 1)
			},
			func(l *lab) { l.files["keep.yaml"] = vmYAML("keep-1", 209); l.push("another source", alice) }, string(reason.InUse),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithPrune(t, func(t *testing.T, l *lab) {
				l.rareTicks()
				test.use(l)
				defer l.start()()
				l.newISO("pve1")
				eventually(l, "the reason", func() bool { return l.imageHasReason(reason.Name(test.why)) })
				l.remainsISO()
				l.wantFiles(true, true)
				if g := l.object("Image/debian-13"); (g.Sync == report.Synced) != (test.why == string(reason.InUse)) {
					t.Errorf("got the image %s; a file that is used is no difference, and an unknown use is one", g.Sync)
				}
				test.end(l)
				time.Sleep(30 * time.Minute) // of the backoff
				eventually(l, "the deletion", func() bool { return !l.hasFile("pve1", isoVolume) })
				l.converge()
			})
		})
	}
}

// TestFileOfAPersonStays replaces the former file by one of another size. It is never deleted.
func TestFileOfAPersonStays(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		l.ok(l.sim.RemoveVolume(isoVolume))
		l.ok(l.sim.AddVolume(isoVolume, 5<<20))
		defer l.start()()
		delete(l.files, "image.yaml")
		l.push("no image", alice)
		eventually(l, "the condition", func() bool { return l.imageHasReason(reason.NotManaged) })
		l.remainsISO()
		if g := l.object("Image/debian-13"); g.Sync != report.SyncUnknown {
			t.Errorf("got %s, want unknown", g.Sync)
		}
		l.ok(l.sim.RemoveVolume(isoVolume))
		l.converge()
		if got := len(l.journal.State().Downloaded); got != 0 {
			t.Errorf("got %d records of files, want none after the file is gone", got)
		}
	})
}

// TestFileStaysUntilTheNewOneIsThere lets the new file not be downloaded. Its former one stays.
func TestFileStaysUntilTheNewOneIsThere(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		defer l.start()()
		l.publishISO(strings.Repeat("0", 64))
		l.files["image.yaml"] = isoYAML(newerSum, "pve1")
		l.push("a newer image", alice)
		eventually(l, "the failure", func() bool { return l.imageHasReason(reason.Name(cluster.OpDownload)) })
		l.remainsISO()
		l.publishISO(newerSum)
		time.Sleep(30 * time.Minute) // of the backoff
		eventually(l, "the deletion", func() bool { return !l.hasFile("pve1", isoVolume) })
		l.converge()
		l.wantFiles(false, true)
	})
}

// TestFormerFilesOnSeveralNodes has the file on two nodes, of which one is offline. Its file is deleted when it is back.
func TestFormerFilesOnSeveralNodes(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		defer l.start()()
		l.files["image.yaml"] = isoYAML(debianSum, "pve1", "pve2")
		l.push("on both nodes", alice)
		l.converge()
		l.sim.StopNode("pve2")
		time.Sleep(time.Minute)
		l.files["image.yaml"] = isoYAML(debianSum, "pve1")
		l.push("on one node", alice)
		eventually(l, "the condition", func() bool { return l.imageHasReason(reason.NotObserved) })
		time.Sleep(10 * time.Minute)
		if got := l.sim.Counters().Routes[deletions]; got != 0 || !l.hasFile("pve1", isoVolume) {
			t.Errorf("got %d deletions and the file of pve1 there: %t, want none and the file", got, l.hasFile("pve1", isoVolume))
		}
		l.sim.StartNode("pve2")
		eventually(l, "the deletion", func() bool { return !l.hasFile("pve2", isoVolume) })
		l.converge()
		if !l.hasFile("pve1", isoVolume) {
			t.Error("got the file of pve1 deleted, want it there: the manifest keeps it")
		}
	})
}

// TestImagesOfOneURL has two Images with the same URL and checksum. Each has its own file, and the removal of one leaves that of the other.
func TestImagesOfOneURL(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		defer l.start()()
		l.files["other.yaml"] = strings.Replace(isoYAML(debianSum, "pve1"), "name: debian-13}", "name: debian}", 1)
		l.push("two images", alice)
		l.converge()
		delete(l.files, "other.yaml")
		l.push("one image", alice)
		l.converge()
		eventually(l, "the deletion", func() bool { return !l.hasFile("pve1", "local:iso/debian-9f86d081884c.iso") })
		l.staysThere(isoVolume)
	})
}

// staysThere lets time pass and wants a file on pve1 to stay.
func (l *lab) staysThere(volume string) {
	l.Helper()
	time.Sleep(10 * time.Minute)
	if !l.hasFile("pve1", volume) || l.deleted(volume) != 0 {
		l.Errorf("got %s deleted, want it there", volume)
	}
}

// TestDeletionOfAFileWithoutReply loses the reply to the call, before and after it acts. The file is deleted once, and the step is settled from what is there.
func TestDeletionOfAFileWithoutReply(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]pvesim.Fault{
		"dropped_after":  {Kind: pvesim.DropAfter},
		"dropped_before": {Kind: pvesim.DropBefore},
		"garbage":        {Kind: pvesim.InvalidJSON, AfterActing: true},
		"task_killed":    {Kind: pvesim.TaskKilled},
	} {
		t.Run(name, func(t *testing.T) {
			runLabWithPrune(t, func(t *testing.T, l *lab) {
				fault.Method, fault.Path = "DELETE", "/content/"
				l.ok(l.sim.Inject(fault))
				defer l.start()()
				l.newISO("pve1")
				eventually(l, "the deletion", func() bool { return !l.hasFile("pve1", isoVolume) })
				l.converge()
				if got := l.deleted(isoVolume); got != 1 {
					t.Errorf("got %d deletions, want one", got)
				}
				if open := l.journal.State().Open; len(open) != 0 {
					t.Errorf("got open steps %+v, want none", open)
				}
			})
		})
	}
}

// TestCrashAroundTheDeletionOfAFile ends the agent at each point of the call.
func TestCrashAroundTheDeletionOfAFile(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"before-call", "after-call", "waiting"} {
		for name, change := range map[string]func(l *lab){
			"checksum": func(l *lab) { l.newISO("pve1") },
			"manifest": func(l *lab) { delete(l.files, "image.yaml"); l.push("no image", alice) },
		} {
			t.Run(name+"/"+at, func(t *testing.T) {
				runLabWithPrune(t, func(t *testing.T, l *lab) {
					l.crashAndRecover(cluster.OpDeleteFile, at, change)
					l.start()()
					if got := l.deleted(isoVolume); got != 1 {
						t.Errorf("got %d deletions, want one", got)
					}
				})
			})
		}
	}
}

// TestDeletionNeedsItsPrivilege takes Datastore.Allocate from the token. The file stays, and the report says why.
func TestDeletionNeedsItsPrivilege(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		role := pvesim.DefaultTokens()[1]
		l.sim.SetPrivileges(role.ID, []pvesim.ACL{{Path: "/", Privileges: append(slices.Clone(role.ACL[0].Privileges), "Sys.AccessNetwork")}})
		defer l.start()()
		l.newISO("pve1")
		eventually(l, "the condition", func() bool {
			return slices.ContainsFunc(l.object("Image/debian-13").Conditions, func(c plan.Condition) bool { return strings.Contains(c.Message, "Datastore.Allocate") })
		})
		l.wantFiles(true, true)
	})
}

// TestNoFileIsDeletedWithoutGuests removes every manifest of a guest, as a wrong source.paths does.
func TestNoFileIsDeletedWithoutGuests(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		defer l.start()()
		delete(l.files, "image.yaml")
		delete(l.files, "keep.yaml")
		l.push("nothing", alice)
		eventually(l, "the hold", func() bool {
			_, held := l.heldFor("Image/debian-13", reason.DestroyLimit)
			return held
		})
		l.remainsISO()
	})
}

// TestFileStaysWhileGuestsAreHidden limits the token to a pool while a guest outside of the pool has the former file in its drive. The file stays, since the token does
// not see every guest. Then the token sees the guest, which uses the file. Then the drive is emptied.
func TestFileStaysWhileGuestsAreHidden(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		role := pvesim.DefaultTokens()[1]
		everywhere := append(slices.Clone(role.ACL[0].Privileges), "Sys.AccessNetwork", "Datastore.Allocate")
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 1000, Config: "name: other\nide2: " + isoVolume + ",media=cdrom\n"})
		l.ok(err)
		l.sim.AddPool("mine", "", 209, 9000)
		isOfGuests := func(privilege string) bool { return strings.HasPrefix(privilege, "VM.") }
		outside := slices.DeleteFunc(slices.Clone(everywhere), isOfGuests)
		l.sim.SetPrivileges(role.ID, []pvesim.ACL{{Path: "/", Privileges: outside}, {Path: "/pool/mine", Privileges: everywhere}})
		inventory, err := l.cluster.Inventory(t.Context())
		l.ok(err)
		if _, listed := inventory.Row(1000); listed {
			t.Fatal("got the guest outside of the pool listed, want it hidden")
		}
		defer l.start()()
		l.newISO("pve1")
		eventually(t, "the hold", func() bool {
			held, isHeld := l.heldFor("Image/debian-13", reason.NotObserved)
			return isHeld && strings.Contains(held.Message, string(volumes.NoAudit)) && strings.Contains(held.Hint, "VM.Audit on /vms")
		})
		l.remainsISO()
		l.sim.SetPrivileges(role.ID, []pvesim.ACL{{Path: "/", Privileges: everywhere}})
		eventually(t, "the use by the guest", func() bool {
			return slices.ContainsFunc(l.object("Image/debian-13").Conditions, func(c plan.Condition) bool {
				return c.Reason == reason.InUse && strings.Contains(c.Message, "1000")
			})
		})
		l.remainsISO()
		l.ok(l.sim.Edit(1000, "ide2", "none,media=cdrom"))
		time.Sleep(30 * time.Minute) // of the backoff
		eventually(t, "the deletion", func() bool { return !l.hasFile("pve1", isoVolume) })
		l.converge()
	})
}

// TestFormerFileWantedAgain delays the call that deletes a former file until after a revert, which wants the file for a new guest. No guest has a file that is deleted.
func TestFormerFileWantedAgain(t *testing.T) {
	t.Parallel()
	fromISO := func(source string) string {
		return strings.Replace(vmYAML("new-1", 210), "source: {clone: {name: tmpl-debian-12}}", "source: {iso: {"+source+"}}\n  disks: {scsi0: {storage: local-lvm, size: 1Gi}}", 1)
	}
	for name, test := range map[string]struct {
		change  func(l *lab)
		created bool
	}{
		"downloaded_again": {func(l *lab) {
			l.publishISO(debianSum)
			l.files["image.yaml"], l.files["new.yaml"] = isoYAML(debianSum, "pve1"), fromISO("image: debian-13")
		}, true},
		"lost": {func(l *lab) {
			l.files["image.yaml"], l.files["new.yaml"] = isoYAML(debianSum, "pve1"), fromISO("image: debian-13")
		}, false},
		"volume": {func(l *lab) { l.files["new.yaml"] = fromISO(`volume: "` + isoVolume + `"`) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			runLabWithPrune(t, func(t *testing.T, l *lab) {
				defer l.start()()
				l.delayed("DELETE", "/content/")
				l.newISO("pve1")
				time.Sleep(50 * time.Second)
				if !l.hasFile("pve1", isoVolume) || l.sim.Counters().Routes[deletions] != 1 {
					t.Fatalf("got %d deletions, want one that has not acted yet", l.sim.Counters().Routes[deletions])
				}
				test.change(l)
				l.push("revert", alice)
				for range 240 {
					time.Sleep(5 * time.Second)
					if strings.Contains(l.sim.Value(210, "ide2"), isoVolume) && !l.hasFile("pve1", isoVolume) {
						t.Fatal("got a guest whose file was deleted, want it to wait for the deletion")
					}
				}
				if got := strings.Contains(l.sim.Value(210, "ide2"), isoVolume); got != test.created {
					t.Errorf("got the guest with the file: %t, want %t", got, test.created)
				}
			})
		})
	}
}

// A person inserts the file half a second after its users were read for the first time, while a later call of the agent takes four seconds.
func TestFileIsInsertedWhileACallIsSlow(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/storage/local/content", "/nodes/pve1/tasks$"} {
		t.Run(path, func(t *testing.T) {
			runLabWithPrune(t, func(t *testing.T, l *lab) {
				l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.Latency, Method: "GET", Path: path, Delay: 4 * time.Second, Times: -1}))
				defer l.start()()
				l.newISO("pve1")
				for l.sim.Counters().Routes["GET /access/permissions"] == 0 {
					time.Sleep(50 * time.Millisecond)
				}
				time.Sleep(500 * time.Millisecond)
				l.ok(l.sim.Edit(209, "ide2", isoVolume+",media=cdrom"))
				time.Sleep(5 * time.Minute)
				if !l.hasFile("pve1", isoVolume) || l.sim.Counters().Routes[deletions] != 0 {
					t.Errorf("got %d deletions, want the file of the drive kept", l.sim.Counters().Routes[deletions])
				}
			})
		})
	}
}

// Two former files that only a snapshot names are both as they shall be: each has its own condition, and neither is a difference.
func TestFilesOfASnapshotAreNoDifference(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		l.rareTicks()
		l.ok(l.sim.EditFile(209, func(config string) string {
			return config + "\n[before]\nide2: " + isoVolume + ",media=cdrom\nide3: " + newerISO + ",media=cdrom\nname: keep-1\nsnaptime: 946684800\n"
		}))
		defer l.start()()
		l.newISO("pve1")
		eventually(l, "the reason", func() bool { return l.imageHasReason(reason.InUse) })
		thirdSum := strings.Repeat("cd", 32)
		l.publishISO(thirdSum)
		l.files["image.yaml"] = isoYAML(thirdSum, "pve1")
		l.push("a third image", alice)
		inUse := func() (files []string) {
			for _, c := range l.object("Image/debian-13").Conditions {
				if c.Reason == reason.InUse {
					files = append(files, c.Message)
				}
			}
			return files
		}
		eventually(l, "both reasons", func() bool { return len(inUse()) == 2 })
		time.Sleep(6 * time.Hour)
		got := l.object("Image/debian-13")
		if files := inUse(); got.Sync != report.Synced || len(got.Held) != 0 || len(files) != 2 || !strings.Contains(files[0]+files[1], isoVolume) || !strings.Contains(files[0]+files[1], newerISO) {
			t.Errorf("got %s, held %+v and %q, want it in sync with a condition for each file", got.Sync, got.Held, files)
		}
	})
}

// TestFormerFileOfARemovedStorage lets the storage of a former file answer no more. The Image stays unknown, with the remedy, until prune: false is accepted.
func TestFormerFileOfARemovedStorage(t *testing.T) {
	runLabWithPrune(t, func(t *testing.T, l *lab) {
		defer l.start()()
		l.ok(l.sim.Inject(pvesim.Fault{Method: http.MethodGet, Path: "/storage/local/content$", Kind: pvesim.ErrorText, Text: "storage 'local' does not exist", Times: -1}))
		delete(l.files, "image.yaml")
		l.push("no image", alice)
		l.cure(reason.EndDeletions, l.saysOf("Image/debian-13"), func([]string) {
			l.files["image.yaml"] = strings.Replace(isoYAML(debianSum, "pve1"), "prune: true", "prune: false", 1)
			l.push("keep the files", alice)
			eventually(t, "the record", func() bool {
				return !l.journal.State().Downloaded[journal.FileOn{Node: "pve1", Volume: isoVolume}].Prune
			})
			delete(l.files, "image.yaml")
			l.push("no image again", alice)
		})
		l.converge()
		eventually(t, "the Image to be forgotten", func() bool { return l.object("Image/debian-13").Label() != "Image/debian-13" })
	})
}
