package manifest

import (
	"strings"

	"gitops-agent/reconcile/guest"
)

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
