package manifest

import (
	"strings"
	"unicode/utf8"

	"gitops-agent/reconcile/guest"
)

const pendingReason = "a change of it waits for the next start: adopt it again after a restart, or take the change back"

// adoptValue returns the text of a native key that a manifest is to pin, or why it cannot. Both are empty for what is Proxmox's own
// business and for what has no value.
func adoptValue(kind guest.Kind, key string, value guest.Value, opts AdoptOptions) (text, reason string) {
	ours := reservedKeys[key] == "" && !strings.HasPrefix(key, "unused")
	switch {
	case strings.Contains(reservedKeys[key], "secret"):
		_, remedy, _ := strings.Cut(reservedKeys[key], ": ")
		return "", "it is set, and cannot be read: " + remedy
	case !ours, strings.TrimSpace(value.Text) == "" && value.Pending == nil:
		return "", ""
	case waits(kind, key, value):
		return "", pendingReason
	case !guest.IsKnown(kind, key):
		return "", "this agent does not know the key"
	case key == "lxc":
		return "", "the API reads it and does not write it"
	case key == "env" && !opts.Env:
		return "", "variables often carry secrets: --env writes them all the same"
	case guest.RootOnly(kind, key):
		return "", "Proxmox lets only root@pam change it, and no API token"
	case !utf8.ValidString(value.Text):
		return "", "its text is no UTF-8"
	case key == "tags":
		return withoutMarkers(value.Text), ""
	case key == "description":
		return normalizeDescription(value.Text), ""
	}
	if guest.KeptByProxmox(kind, key) {
		return "", ""
	}
	return value.Text, ""
}

// waits reports whether the key means something else after the next start.
func waits(kind guest.Kind, key string, value guest.Value) bool {
	next, there := value.Next()
	now, _ := guest.Canonical(kind, key, value.Text)
	then, _ := guest.Canonical(kind, key, next)
	return there != value.Set || now != then
}

// withoutMarkers returns tags without marks of ownership.
func withoutMarkers(text string) string {
	var kept []string
	for _, tag := range guest.Tags(text) {
		if len(guest.MarkerTags([]string{tag})) == 0 {
			kept = append(kept, tag)
		}
	}
	return strings.Join(kept, ";")
}
