package reconcile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
)

// TestEverySourceConverges makes a guest from each kind of source, once, and does not change it afterwards.
func TestEverySourceConverges(t *testing.T) {
	t.Parallel()
	vm := func(source string, lines ...string) string {
		return strings.Replace(vmYAML("web-1", 201, lines...), "source: {clone: {name: tmpl-debian-12}}", "source: "+source, 1)
	}
	disk := "disks: {scsi0: {storage: local-lvm, size: 4Gi}}"
	tests := map[string]struct {
		manifest string
		effect   pvesim.Op
		want     string // in the guest's config
	}{
		"full_clone":   {vm("{clone: {name: tmpl-debian-12, storage: local-lvm}}"), pvesim.Cloned, "scsi0: local-lvm:vm-201-disk-"},
		"linked_clone": {vm("{clone: {name: tmpl-debian-12, full: false}}"), pvesim.Cloned, "scsi0: local:9000/base-9000-disk-0.qcow2/201/"},
		"image": {
			vm(`{image: {from: "local:import/debian-12-genericcloud-amd64.qcow2"}}`, disk), pvesim.Created, "scsi0: local-lvm:vm-201-disk-",
		},
		"iso":    {vm(`{iso: {volume: "local:iso/debian.iso"}}`, disk), pvesim.Created, "ide2: local:iso/debian.iso,media=cdrom"},
		"blank":  {vm("{blank: {}}", disk), pvesim.Created, "scsi0: local-lvm:vm-201-disk-"},
		"backup": {vm(`{backup: {volume: "ARCHIVE", storage: local}}`, "memory: {size: 3Gi}"), pvesim.Created, "memory: 3072"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.ok(l.sim.AddVolume("local:iso/debian.iso", 1<<20))
				l.files["web.yaml"] = strings.Replace(test.manifest, "ARCHIVE", l.makeBackup(150), 1)
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				if got := l.sim.Effects(201, test.effect); got != 1 {
					t.Errorf("got it %s %d times, want once", test.effect, got)
				}
				if config := l.sim.Config(201); !strings.Contains(config, test.want) {
					t.Errorf("got config %q, want %q in it", config, test.want)
				}
			})
		})
	}
}

// makeBackup makes a guest with the marker of another owner, backs it up and returns the archive.
func (l *lab) makeBackup(vmid int) string {
	l.Helper()
	_, err := l.sim.AddVM(pvesim.Guest{VMID: vmid, Config: fmt.Sprintf("name: old\nmemory: 512\ntags: gitops-00000000\nscsi0: local:%d/vm-%d-disk-0.qcow2,size=1G\n", vmid, vmid)})
	l.ok(err)
	body := strings.NewReader(fmt.Sprintf("vmid=%d&storage=local", vmid))
	req, err := http.NewRequestWithContext(l.Context(), http.MethodPost, "https://pve1.lab.test:8006/api2/json/nodes/pve1/vzdump", body)
	l.ok(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "PVEAPIToken="+l.sim.Token("root@pam!full"))
	res, err := l.sim.Transport().RoundTrip(req)
	l.ok(err)
	l.ok(res.Body.Close())
	archive := ""
	eventually(l, "a backup", func() bool {
		for _, v := range l.sim.Volumes() {
			if v.Kind == "backup" {
				archive = v.ID
			}
		}
		return archive != ""
	})
	return archive
}

// TestCloudInitDriveIsWrittenAgain changes the cloud-init settings of a running guest whose manifest wants a new drive at once.
func TestCloudInitDriveIsWrittenAgain(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		web := func(user string) string {
			return vmYAML("web-1", 201, "state: running", "lifecycle: {rebootPolicy: auto}", "cloudInit: {storage: local, user: "+user+", onChange: regenerate}")
		}
		l.files["web.yaml"] = web("ops")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.sim.ResetCounters()
		l.files["web.yaml"] = web("admin")
		l.push("another user", alice)
		l.converge()
		if got := l.sim.Counters().Routes["PUT /nodes/{node}/qemu/{vmid}/cloudinit"]; got != 1 {
			t.Errorf("got the drive written again %d times, want once", got)
		}
	})
}

// TestCloudInitDriveIsNotForgotten makes the second call of the step fail or get lost, or crashes the agent before it, when nothing else differs
// any more.
func TestCloudInitDriveIsNotForgotten(t *testing.T) {
	t.Parallel()
	web := func(user string) string {
		return vmYAML("web-1", 201, "state: running", "lifecycle: {rebootPolicy: auto}", "cloudInit: {storage: local, user: "+user+", onChange: regenerate}")
	}
	const route = "PUT /nodes/{node}/qemu/{vmid}/cloudinit"
	t.Run("call_fails", func(t *testing.T) {
		runLab(t, nil, func(t *testing.T, l *lab) {
			l.files["web.yaml"] = web("ops")
			l.push("one guest", alice)
			defer l.start()()
			l.converge()
			l.sim.ResetCounters()
			l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.ErrorText, Path: "/cloudinit$", Method: "PUT", Text: "can't lock file - got timeout", Times: 2}))
			l.files["web.yaml"] = web("admin")
			l.push("another user", alice)
			l.converge()
			time.Sleep(10 * time.Minute)
			if got := l.sim.Counters().Routes[route]; got != 3 {
				t.Errorf("got %d calls for the drive, want two that fail and one that does not", got)
			}
		})
	})
	t.Run("reply_lost", func(t *testing.T) {
		runLab(t, nil, func(t *testing.T, l *lab) {
			l.files["web.yaml"] = web("ops")
			l.push("one guest", alice)
			defer l.start()()
			l.converge()
			l.sim.ResetCounters()
			l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.DropBefore, Path: "/cloudinit$", Method: "PUT"}))
			l.files["web.yaml"] = web("admin")
			l.push("another user", alice)
			l.converge()
			time.Sleep(10 * time.Minute)
			if got := l.sim.Counters().Routes[route]; got != 2 {
				t.Errorf("got %d calls for the drive, want one that is lost and one that is not", got)
			}
		})
	})
	t.Run("configuration_lost", func(t *testing.T) {
		runLab(t, nil, func(t *testing.T, l *lab) {
			l.files["web.yaml"] = web("ops")
			l.push("one guest", alice)
			defer l.start()()
			l.converge()
			l.sim.ResetCounters()
			l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.DropAfter, Path: "/qemu/201/config$", Method: "POST"}))
			l.files["web.yaml"] = web("admin")
			l.push("another user", alice)
			l.converge()
			l.mu.Lock()
			last := l.steps[len(l.steps)-2] // before the restart
			l.mu.Unlock()
			if last.Step.Op != cluster.OpConfig || last.Result != journal.Unknown {
				t.Errorf("got %s %s, want the configuration unknown, since its reply was lost", last.Step.Op, last.Result)
			}
			if got := l.sim.Counters().Routes[route]; got != 1 {
				t.Errorf("got the drive written again %d times, want once", got)
			}
		})
	})
	t.Run("agent_dies", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, newSim(t, pvesim.Options{}))
			l.files["web.yaml"] = web("ops")
			l.crashAndRecover(cluster.OpCloudInit, "before-call", func(l *lab) {
				l.files["web.yaml"] = web("admin")
				l.push("another user", alice)
			})
			if got := l.sim.Counters().Routes[route]; got != 1 {
				t.Errorf("got the drive written again %d times, want once", got)
			}
		})
	})
}
