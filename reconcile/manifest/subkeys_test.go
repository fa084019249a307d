package manifest_test

import (
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// TestSubKeysArePlanned: a native sub-key is written beside what else the device has, and an empty text takes it away.
func TestSubKeysArePlanned(t *testing.T) {
	t.Parallel()
	const disk, card = "local-lvm:vm-105-disk-0,cache=none,size=1G", "virtio=BC:24:11:00:00:AA,bridge=vmbr0"
	tests := map[string]struct {
		spec, key, live  string
		from, to, ignore string
	}{
		"added":    {spec: "disks: {scsi0: {raw: {werror: report}}}", key: "scsi0", live: disk, from: "local-lvm:vm-105-disk-0,size=1G", to: "local-lvm:vm-105-disk-0,size=1G,werror=report"},
		"changed":  {spec: "disks: {scsi0: {raw: {werror: report}}}", key: "scsi0", live: disk + ",werror=stop", from: "local-lvm:vm-105-disk-0,size=1G,werror=stop", to: "local-lvm:vm-105-disk-0,size=1G,werror=report"},
		"there":    {spec: "disks: {scsi0: {raw: {werror: report}}}", key: "scsi0", live: disk + ",werror=report"},
		"unset":    {spec: `disks: {scsi0: {raw: {werror: ""}}}`, key: "scsi0", live: disk + ",werror=stop", from: "local-lvm:vm-105-disk-0,size=1G,werror=stop", to: "local-lvm:vm-105-disk-0,size=1G"},
		"gone":     {spec: `disks: {scsi0: {raw: {werror: ""}}}`, key: "scsi0", live: disk},
		"ignored":  {spec: "disks: {scsi0: {raw: {werror: report}}}", key: "scsi0", live: disk + ",werror=stop", ignore: "disks.scsi0.raw.werror"},
		"card":     {spec: "networks: {net0: {bridge: vmbr0, raw: {trunks: 5;7}}}", key: "net0", live: card, from: card, to: card + ",trunks=5;7"},
		"spelling": {spec: "networks: {net0: {bridge: vmbr0, raw: {trunks: 7;5-6}}}", key: "net0", live: card + ",trunks=5-7"},
		"cpu":      {spec: "cpu: {raw: {hidden: true}}", key: "cpu", live: "host,flags=+aes", from: "host,flags=+aes", to: "host,flags=+aes,hidden=1"},
		"tray":     {spec: "disks: {ide2: {iso: none, raw: {werror: stop}}}", key: "ide2", live: "local:iso/a.iso,media=cdrom,size=1M,werror=stop", from: "local:iso/a.iso,media=cdrom,size=1M,werror=stop", to: "volume=none,media=cdrom,werror=stop"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := "vmid: 105\n  adopt: ifUnmanaged\n  " + test.spec
			if test.ignore != "" {
				spec += "\n  ignoreFields: [" + test.ignore + "]"
			}
			set, err := manifest.Parse([]manifest.File{{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: "web.yaml", Data: []byte(vm("web-1", spec))}})
			if err != nil {
				t.Fatal(err)
			}
			desired, err := set.Lower(nil)
			if err != nil {
				t.Fatal(err)
			}
			var key, from, to string
			for _, c := range guest.Diff(desired[0], liveGuest(guest.VirtualMachine, map[string]string{test.key: test.live})) {
				key, from, to = c.Key, c.From, c.To
			}
			if from != test.from || to != test.to || from != "" && key != test.key {
				t.Errorf("got %s: %q to %q, want %s: %q to %q", key, from, to, test.key, test.from, test.to)
			}
		})
	}
}

// TestSubKeysOfNewGuests: a guest is made with its native sub-keys, and without those that are wanted unset.
func TestSubKeysOfNewGuests(t *testing.T) {
	t.Parallel()
	spec := `vmid: 105
  node: pve1
  source: {blank: {}}
  disks: {scsi0: {storage: local-lvm, size: 8Gi, raw: {werror: "", rerror: stop}}, ide2: {iso: none, cache: unsafe, raw: {werror: stop}}}
  networks: {net0: {bridge: vmbr0, raw: {trunks: ""}}}`
	set, err := manifest.Parse([]manifest.File{{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: "web.yaml", Data: []byte(vm("web-1", spec))}})
	if err != nil {
		t.Fatal(err)
	}
	desired, err := set.Lower(nil)
	if err != nil {
		t.Fatal(err)
	}
	params, err := guest.CreateParams(desired[0])
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"scsi0": "local-lvm:8,rerror=stop", "ide2": "none,cache=unsafe,media=cdrom,werror=stop", "net0": "virtio,bridge=vmbr0"} {
		if params[key] != want {
			t.Errorf("%s: got %q, want %q", key, params[key], want)
		}
	}
}
