package manifest_test

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// TestAdoptPinsEverySubKey: some field expresses every sub-key of a device in the key table.
func TestAdoptPinsEverySubKey(t *testing.T) {
	t.Parallel()
	const disk = "local-lvm:vm-105-disk-0,size=1G"
	bases := map[guest.Kind]map[string]string{
		guest.VirtualMachine: {
			"scsi1": disk, "virtio0": disk, "sata0": disk, "ide0": disk, "ide1": "none,media=cdrom", "cpu": "cputype=host", "net0": "virtio=BC:24:11:00:00:AA,bridge=vmbr0",
			"hostpci0": "mapping=gpu", "usb0": "mapping=stick", "virtiofs0": "dirid=share", "rng0": "source=/dev/urandom", "watchdog": "model=ib700", "audio0": "device=AC97",
			"vga": "type=std", "agent": "enabled=1", "startup": "order=1",
		},
		guest.Container: {
			"rootfs": disk, "mp0": disk + ",mp=/data", "net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:AA,ip=10.0.0.5/24,ip6=fd00::5/64", "startup": "order=1",
		},
	}
	for kind, keys := range bases {
		for key, base := range keys {
			for _, sub := range guest.SubKeys(kind, key) {
				isTheDevice := sub == "media" || sub == "host" || sub == "romfile" || // which root@pam alone may set
					key == "net0" && sub == "model" || strings.Contains(base, sub+"=")
				if isTheDevice {
					continue
				}
				text := acceptable(t, kind, key, sub)
				o := liveGuest(kind, map[string]string{key: base + "," + sub + "=" + text})
				if guest.UnsupportedSubKey(kind, key, sub, guest.Version{}) != "" {
					o.Version = guest.Version{Major: 8, Minor: 4}
				}
				a, err := manifest.Adopt(o, adoptOptions)
				if err != nil {
					t.Fatal(err)
				}
				lost := o.Keys[key]
				lost.Text = base
				o.Keys[key] = lost
				changes := guest.Diff(wanted(t, a.Data), o)
				if spelled := canonicalText(kind, key, base) == canonicalText(kind, key, base+","+sub+"="+text); len(a.Left) > 0 || len(changes) == 0 && !spelled {
					t.Errorf("%s %s: got %s=%s left out as %v, and %d changes when it goes, want it pinned in\n%s", kind, key, sub, text, a.Left, len(changes), a.Data)
				}
			}
		}
	}
}

func canonicalText(kind guest.Kind, key, text string) string {
	text, _ = guest.Canonical(kind, key, text)
	return text
}

// acceptable returns a value that a sub-key takes.
func acceptable(t *testing.T, kind guest.Kind, key, sub string) string {
	t.Helper()
	for _, text := range []string{"7", "1", "40", "0x12", "100", "10.0.0.1", "fd00::1"} {
		err := guest.CheckSubKey(kind, key, sub, text)
		if err == nil {
			return text
		}
		if _, words, listed := strings.Cut(err.Error(), "want one of "); listed {
			return words[strings.LastIndexByte(words, ' ')+1:]
		}
	}
	t.Fatalf("%s %s: got no value that %s takes, want one", kind, key, sub)
	return ""
}
