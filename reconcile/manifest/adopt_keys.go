package manifest

import (
	"strings"
	"unicode/utf8"

	"gitops-agent/reconcile/guest"
)

const pendingReason = "a change of it waits for the next start: adopt the guest after a restart, or revert the change"

// adoptValue returns the text of a native key to pin, or the reason why it cannot be pinned. Both are empty for keys that only Proxmox writes and
// for keys without a value.
func adoptValue(kind guest.Kind, key string, value guest.Value, opts AdoptOptions) (text, reason string) {
	switch {
	case secretFields[key] != "":
		return "", "it is set, and cannot be read: set " + secretFields[key]
	case reservedReason(key) != "", strings.TrimSpace(value.Text) == "" && value.Pending == nil:
		return "", ""
	case waits(kind, key, value):
		return "", pendingReason
	case !guest.IsKnown(kind, key):
		return "", "this agent does not know the key"
	case key == "lxc":
		return "", "the API can read it, but not write it"
	case key == "env" && !opts.Env:
		return "", "variables often contain secrets: --env writes them anyway"
	case guest.RootOnly(kind, key):
		return "", "Proxmox lets only root@pam change it, and no API token"
	case !utf8.ValidString(value.Text):
		return "", "its text is not UTF-8"
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

// waits reports whether the key has another meaning after the next start.
func waits(kind guest.Kind, key string, value guest.Value) bool {
	next, there := value.Next()
	now, _ := guest.Canonical(kind, key, value.Text)
	then, _ := guest.Canonical(kind, key, next)
	return there != value.Set || now != then
}

// withoutMarkers returns tags without ownership markers.
func withoutMarkers(text string) string {
	var kept []string
	for _, tag := range guest.Tags(text) {
		if len(guest.Markers(tag)) == 0 {
			kept = append(kept, tag)
		}
	}
	return strings.Join(kept, ";")
}
