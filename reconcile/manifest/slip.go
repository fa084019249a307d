package manifest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// synonyms are words that people use for those that a field takes, each with what may be meant by it.
var synonyms = map[string][]string{
	"started": {"running"}, "start": {"running", "started"}, "up": {"running", "started"}, "running": {"started"},
	"stop": {"stopped"}, "down": {"stopped"}, "off": {"stopped"}, "shutdown": {"stopped"}, "halted": {"stopped"}, "unmanaged": {"ignored"},
	"true": {"ifUnmanaged"}, "yes": {"ifUnmanaged"}, "always": {"ifUnmanaged"}, "false": {"deny"}, "no": {"deny"},
	"dry-run": {"observe"}, "linux": {"l26"}, "debian": {"l26"}, "ubuntu": {"l26"}, "windows": {"win11"},
	"uefi": {"ovmf"}, "efi": {"ovmf"}, "bios": {"seabios"}, "legacy": {"seabios"}, "virtio": {"virtio-scsi-single"}, "virtio-scsi": {"virtio-scsi-single"},
	"vm": {string(guest.VirtualMachine)}, "qemu": {string(guest.VirtualMachine)}, "kvm": {string(guest.VirtualMachine)},
	"lxc": {string(guest.Container)}, "ct": {string(guest.Container)}, "class": {kindClass},
}

// synonym returns the option that a word means by another name, "" where none does.
func synonym(word string, options []string) string {
	for _, meant := range synonyms[strings.ToLower(word)] {
		if slices.Contains(options, meant) {
			return meant
		}
	}
	return ""
}

// smallLetters returns a hint for a native key that is written like a field: ostype for osType.
func smallLetters(key string) string {
	small := strings.ToLower(key)
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		if known(kind, small) {
			return didYouMean(small)
		}
	}
	return ""
}

// known reports whether the key table holds a native key.
func known(kind guest.Kind, key string) bool {
	_, holds := guest.Canonical(kind, key, "")
	return holds
}

// withKind returns a hint for a guest that is named without its kind.
func withKind(name string) string {
	if !dnsName.ok(name) {
		return ""
	}
	return didYouMean(string(guest.VirtualMachine) + "/" + name + " or " + string(guest.Container) + "/" + name)
}
