package guest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// ErrUnknownKey means that the key table does not contain a key. Such a key is compared as text and kept.
var ErrUnknownKey = errors.New("unknown key")

// Check returns why Proxmox would refuse text as the value of a native key, or nil: its format, its enumeration, its range. The error
// states the value and what is wanted, without the key. Allocation syntax is refused, since writing a value again must not create
// another volume. The error of a key that the table does not contain is an ErrUnknownKey.
//
// Source: PVE API, the parameters of PUT /nodes/{node}/{qemu,lxc}/{vmid}/config.
func Check(kind Kind, key, text string) error {
	r, known := find(kind, key)
	switch {
	case !known:
		return fmt.Errorf("%w %s", ErrUnknownKey, key)
	case r.instead != "":
		return fmt.Errorf("want the key %s instead, because Proxmox stores the value under that key", r.instead)
	case r.effect == never:
		return errors.New("want no value: only Proxmox writes it")
	case r.syntax != nil && isBlank(text):
		return errors.New("got no value, want one; to unset the key, leave it out")
	case r.drive && strings.Contains(volumeOf(text), ":iso/") && !strings.Contains(text, "media=cdrom"):
		return fmt.Errorf("got %q, want media=cdrom with an ISO image", text)
	case r.syntax != nil:
		return r.syntax.check(text)
	case r.Form == form.Bool && text != "0" && text != "1":
		return fmt.Errorf("got %q, want 0 or 1", text)
	default:
		return r.Check(text)
	}
}

// Canonical returns the same text for all spellings of the value of a native key, and whether the table contains the key. Two texts have the
// same meaning if their canonical texts are equal. Sub-keys with their default value are left out. The text of an unknown key is returned
// unchanged. Canonical is idempotent.
func Canonical(kind Kind, key, text string) (string, bool) {
	r, known := find(kind, key)
	if !known {
		return text, false
	}
	return r.Canonical(text), true
}

// WrittenPrint returns the fingerprint of a native text of a key, "" for a key that is not set. It is the same for what a call writes and for what Proxmox shows of it
// afterwards, with the parts that Proxmox fills in.
func WrittenPrint(kind Kind, key, text string) string {
	r, known := find(kind, key)
	if !known || r.syntax == nil || isBlank(text) {
		text, _ = Canonical(kind, key, text)
		return fingerprint(text)
	}
	var names []string
	for i := range r.syntax.subs {
		if sub := &r.syntax.subs[i]; !sub.owned {
			names = append(names, sub.name)
		}
	}
	slices.Sort(names)
	return fingerprint("=" + r.syntax.meanings(r.syntax.parse(nil, text), names...))
}

// IsDevice reports whether the key is a mount point, a drive or another device of a guest.
func IsDevice(kind Kind, key string) bool {
	r, _ := find(kind, key)
	return r.device
}

// RootOnly reports whether Proxmox lets only root@pam write the key: no API token may, not even a token of root@pam. Some values of other
// keys need root@pam too, such as a USB device of the host; the Change states that.
func RootOnly(kind Kind, key string) bool {
	r, _ := find(kind, key)
	return r.rootOnly
}

// Privilege returns what a token needs on the guest to write the key, "VM.Config.CPU". It returns the empty string if the table does not
// contain the key or if no token may write it.
func Privilege(kind Kind, key string) string {
	r, _ := find(kind, key)
	if r.rootOnly {
		return ""
	}
	return r.privilege
}
