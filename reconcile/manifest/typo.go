package manifest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// synonyms are words that people use in place of the words of a field, with the possible meanings.
var synonyms = map[string][]string{
	"started": {"running"}, "start": {"running", "started"}, "up": {"running", "started"}, "running": {"started"},
	"stop": {"stopped"}, "down": {"stopped"}, "off": {"stopped"}, "shutdown": {"stopped"}, "halted": {"stopped"}, "unmanaged": {"ignored"},
	"true": {"ifUnmanaged"}, "yes": {"ifUnmanaged"}, "always": {"ifUnmanaged"}, "false": {"deny"}, "no": {"deny"},
	"dry-run": {"observe"}, "linux": {"l26"}, "debian": {"l26"}, "ubuntu": {"l26"}, "windows": {"win11"},
	"uefi": {"ovmf"}, "efi": {"ovmf"}, "bios": {"seabios"}, "legacy": {"seabios"}, "virtio": {"virtio-scsi-single"}, "virtio-scsi": {"virtio-scsi-single"},
	"vm": {string(guest.VirtualMachine)}, "qemu": {string(guest.VirtualMachine)}, "kvm": {string(guest.VirtualMachine)},
	"lxc": {string(guest.Container)}, "ct": {string(guest.Container)}, "class": {kindClass},
}

// synonym returns the option that a word stands for, or "" if there is none.
func synonym(word string, options []string) string {
	for _, meant := range synonyms[strings.ToLower(word)] {
		if slices.Contains(options, meant) {
			return meant
		}
	}
	return ""
}

// lowerCaseHint returns a hint for a native key that is written like a field: ostype for osType.
func lowerCaseHint(key string) string {
	small := strings.ToLower(key)
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		if guest.IsKnown(kind, small) {
			return didYouMean(small)
		}
	}
	return ""
}

// reportTypo reports a native key that is not in the key table but differs from a known key by one letter. Proxmox would refuse it, or it would always
// count as unset.
func (l *lowering) reportTypo(key string, p place) bool {
	meant := typoOf(l.kind, key)
	if meant == "" {
		return false
	}
	l.problem(p, "got the unknown native key "+key, didYouMean(meant)+" If "+key+" is new in Proxmox, a newer agent may know it")
	return true
}

// typoOf returns the known native key that differs from an unknown key by one letter, or "". A different number is not a typo: Proxmox may have more
// slots than the agent knows.
func typoOf(kind guest.Kind, key string) string {
	const shortest, longest = 4, 24 // letters; shorter keys are all similar
	stem := strings.TrimRight(key, "0123456789")
	if len(key) < shortest || len(key) > longest || guest.IsKnown(kind, key) || guest.IsKnown(kind, stem) || guest.IsKnown(kind, stem+"0") {
		return ""
	}
	for i := range len(key) + 1 {
		head, tail := key[:i], key[i:]
		near := swapped(head, tail)
		if tail != "" {
			near = append(near, head+tail[1:])
		}
		for _, letter := range "abcdefghijklmnopqrstuvwxyz_-" {
			near = append(near, head+string(letter)+tail)
			if tail != "" {
				near = append(near, head+string(letter)+tail[1:])
			}
		}
		for _, candidate := range near {
			if guest.IsKnown(kind, candidate) {
				return candidate
			}
		}
	}
	return ""
}

// swapped returns a text, given in two parts, with the letters at the cut swapped.
func swapped(head, tail string) []string {
	if head == "" || tail == "" {
		return nil
	}
	last := len(head) - 1
	return []string{head[:last] + tail[:1] + head[last:] + tail[1:]}
}

// labelHint returns a hint for a guest that is named without its kind.
func labelHint(name string) string {
	if !dnsName.ok(name) {
		return ""
	}
	return didYouMean(string(guest.VirtualMachine) + "/" + name + " or " + string(guest.Container) + "/" + name)
}
