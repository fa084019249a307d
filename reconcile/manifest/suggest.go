package manifest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Suggestion returns "did you mean X?" with the option that is most similar to a misspelt word, or "" if none is similar.
func Suggestion(word string, options []string) string { return didYouMean(closest(word, options)) }

// closest returns the option that is most similar to a misspelt word, or "" if none is similar.
func closest(word string, options []string) string {
	const longest = 40 // longer words are not typos
	if len(word) > longest {
		return ""
	}
	best, least := "", min(max(2, len(word)/3+1), (len(word)+1)/2) // another letter of two makes another word: xz is no misspelt gz
	for _, option := range options {
		if strings.EqualFold(option, word) {
			return option
		}
		if d := distance(strings.ToLower(word), strings.ToLower(option)); d < least {
			best, least = option, d
		}
	}
	if best == "" {
		return beginning(word, options)
	}
	return best
}

// beginning returns the only option that begins with a word, or "" if there are none or several.
func beginning(word string, options []string) string {
	const least = 4 // letters; shorter words match too much
	found := ""
	for _, option := range options {
		switch {
		case len(word) < least || len(option) < len(word) || !strings.EqualFold(option[:len(word)], word):
		case found != "":
			return ""
		default:
			found = option
		}
	}
	return found
}

// distance counts the letters to insert, delete, replace or swap with their neighbour to turn a into b.
func distance(a, b string) int {
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(last[j]+1, next[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}

const didYou, questionMark = "did you mean ", "?"

func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return didYou + word + questionMark
}

// proposed returns the word in a hint of didYouMean, or "" for any other hint.
func proposed(hint string) string {
	word, proposes := strings.CutPrefix(hint, didYou)
	if !proposes {
		return ""
	}
	return strings.TrimSuffix(word, questionMark)
}

// synonyms are words that people use in place of the words of a field, or of its name, with the possible meanings.
var synonyms = map[string][]string{
	"started": {"running"}, "start": {"running", "started"}, "up": {"running", "started"}, "running": {"started"},
	"stop": {"stopped"}, "down": {"stopped"}, "off": {"stopped"}, "shutdown": {"stopped"}, "halted": {"stopped"}, "unmanaged": {"ignored"},
	"true": {"ifUnmanaged"}, "yes": {"ifUnmanaged"}, "always": {"ifUnmanaged"}, "false": {"deny"}, "no": {"deny"},
	"dry-run": {"observe"}, "linux": {"l26"}, "debian": {"l26"}, "ubuntu": {"l26"}, "windows": {"win11"},
	"uefi": {"ovmf"}, "efi": {"ovmf"}, "bios": {"seabios"}, "legacy": {"seabios"}, "virtio": {"virtio-scsi-single"}, "virtio-scsi": {"virtio-scsi-single"},
	"vm": {string(guest.VirtualMachine)}, "qemu": {string(guest.VirtualMachine)}, "kvm": {string(guest.VirtualMachine)},
	"lxc": {string(guest.Container)}, "ct": {string(guest.Container)}, "class": {kindClass}, "set": {kindSet},
	"address": {"v4", "ip4"}, "ipv4": {"v4", "ip4"}, "ipv6": {"v6", "ip6"}, "gateway": {"gw4"}, "gateway4": {"gw4"}, "gateway6": {"gw6"},
	"direction": {"type"}, "allow": {"ACCEPT"}, "permit": {"ACCEPT"}, "block": {"DROP"},
	"datastore": {"storage"}, "prevent_destroy": {"destroy"}, "preventdestroy": {"destroy"},
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
