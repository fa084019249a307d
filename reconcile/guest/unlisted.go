package guest

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// Unlisted is the part of a native key that a running guest uses from its next boot on, although Proxmox writes the key at once and lists nothing as pending.
// The zero value is that of a key that is not set.
type Unlisted struct {
	Device string // that has the value: a new device has its values at once. "" for a value of the whole guest
	Print  string // of the canonical text, "" for none: the journal keeps it, and contains no values
}

// secretShown stands for a secret whose fingerprint is not known.
const secretShown = "set"

// UnlistedValues returns the unlisted values of a guest by key, as the configuration has them now, or as it will have them after the next start. Secrets are the
// fingerprints of the secrets that the guest was given, by key, since Proxmox shows none. Keys without such a value are left out.
//
// Source: vmconfig_hotplug_pending and vmconfig_update_disk of PVE::QemuServer; PVE::QemuServer::Cloudinit; vmconfig_hotplug_pending of PVE::LXC::Config;
// update_net of PVE::LXC.
func UnlistedValues(o Observed, secrets map[string]string, next bool) map[string]Unlisted {
	c := config{live: &o, next: next, secrets: secrets}
	c.cloudInit = c.hasCloudInit()
	values := make(map[string]Unlisted)
	for key := range o.Keys {
		r, _ := find(o.Kind, key)
		if r.unlisted == nil {
			continue
		}
		if text := c.text(key); text != "" {
			if value := r.unlisted(c, r, key, text); value != (Unlisted{}) {
				values[key] = Unlisted{value.Device, fingerprint(value.Print)}
			}
		}
	}
	return values
}

// IsUnlisted reports whether the whole text of a key is an unlisted value.
func IsUnlisted(kind Kind, key string) bool {
	r, known := find(kind, key)
	return known && r.unlisted != nil && !r.device
}

// CountsUnlisted reports whether an unlisted value of a key matters now, or after the next start. What only the cloud-init drive contains does not without that drive.
func CountsUnlisted(o Observed, key string, next bool) bool {
	r, _ := find(o.Kind, key)
	return o.Kind == Container || r.drive || config{live: &o, next: next}.hasCloudInit()
}

// fingerprint returns 48 bits of the SHA-256 sum of a text, "" of none: enough to tell the values of one key from another.
func fingerprint(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// config is the configuration of a guest at one of two times.
type config struct {
	live    *Observed
	next    bool // after the next start
	secrets map[string]string

	cloudInit bool // the guest has a cloud-init drive
}

// text returns the native text of a key, "" if it has none.
func (c config) text(key string) string {
	now, next := nowAndNext(c.live.Keys[key])
	if c.next {
		return next
	}
	return now
}

// hasCloudInit reports whether the guest has a cloud-init drive.
func (c config) hasCloudInit() bool {
	for key := range c.live.Keys {
		if isDriveKey(key) && isCloudInit(volumeOf(c.text(key))) {
			return true
		}
	}
	return false
}

// unlistedRule returns the unlisted value in the native text of a key, the zero value if there is none.
type unlistedRule func(c config, r *row, key, text string) Unlisted

// unlistedText is the rule of a key that a running guest does not use at all.
func unlistedText(_ config, r *row, _, text string) Unlisted {
	return Unlisted{Print: r.Canonical(text)}
}

// unlistedInDrive is the rule of a key that only the cloud-init drive contains. A system reads the drive when it boots.
func unlistedInDrive(c config, r *row, key, text string) Unlisted {
	switch {
	case !c.cloudInit:
		return Unlisted{}
	case IsSecretKey(key):
		return Unlisted{Print: cmp.Or(c.secrets[key], secretShown)}
	default:
		return Unlisted{Print: r.Canonical(text)}
	}
}

// IsSecretKey reports whether Proxmox does not show the value of a key of a virtual machine.
func IsSecretKey(key string) bool { return key == "cipassword" }

// unlistedAddress is the rule of a network card: the cloud-init drive contains the hardware address of a card that has an ipconfig.
func unlistedAddress(c config, r *row, key, text string) Unlisted {
	if !c.cloudInit || c.text("ipconfig"+strings.TrimPrefix(key, "net")) == "" {
		return Unlisted{}
	}
	return Unlisted{Print: r.syntax.meaning(r.syntax.parse(nil, text), "macaddr")}
}

// unlistedLink is the rule of a container's network card. Another name or hardware address makes another device.
func unlistedLink(_ config, r *row, _, text string) Unlisted {
	p := r.syntax.parse(nil, text)
	return Unlisted{Device: p.text("name") + " " + strings.ToUpper(p.text("hwaddr")), Print: r.syntax.meanings(p, "mtu", "trunks", "host-managed")}
}

// unlistedOptions is the rule of a disk: Proxmox writes these options of a disk in use at once, and tells the running machine nothing.
func unlistedOptions(_ config, r *row, _, text string) Unlisted {
	p := r.syntax.parse(nil, text)
	if !isDisk(p) {
		return Unlisted{}
	}
	var names []string
	for i := range r.syntax.subs {
		if sub := &r.syntax.subs[i]; sub.unlisted {
			names = append(names, sub.name)
		}
	}
	return Unlisted{Device: p.text("volume"), Print: r.syntax.meanings(p, names...)}
}

// meanings returns what sub-keys mean, as "serial=A,wwn=0x1", without those that have their defaults.
func (s *syntax) meanings(p properties, names ...string) string {
	var parts []string
	for _, name := range names {
		if text := s.meaning(p, name); text != s.meaning(nil, name) {
			parts = append(parts, name+"="+text)
		}
	}
	return strings.Join(parts, ",")
}

// WithText returns the guest as it would be with another native text of a key, "" for none.
func WithText(o Observed, key, text string) Observed {
	o.Keys = maps.Clone(o.Keys)
	if delete(o.Keys, key); text != "" {
		o.Keys[key] = Value{Text: text, Set: true}
	}
	return o
}

// Managed returns the keys that the manifest wants compared, with where it says so.
func (d Desired) Managed() map[string]Origin {
	managed := make(map[string]Origin, len(d.Intents)+len(d.Secrets))
	for _, in := range d.Intents {
		if !slices.Contains(d.Ignore, in.Key) {
			managed[in.Key] = in.Origin
		}
	}
	for _, s := range d.Secrets {
		if !slices.Contains(d.Ignore, s.Key) {
			managed[s.Key] = s.Origin
		}
	}
	return managed
}

// WaitingChange returns the change of a key whose unlisted value waits for the next boot. Replaces is true if another value is in effect, and not none; sure is false if it
// is not known which one is.
func WaitingChange(o Observed, key string, origin Origin, replaces, sure bool) Change {
	r, _ := find(o.Kind, key)
	now, _ := nowAndNext(o.Keys[key])
	c := Change{Key: key, To: r.Canonical(now), Class: Restart, Write: WriteNone, Waits: true, Note: restartNeeded, Origin: origin, Unsure: !sure}
	if replaces {
		c.From = "another value" // the journal has no values
	}
	if IsSecretKey(key) {
		c.From, c.To = hidden, hidden
	}
	switch {
	case !sure:
		c.Note = "not known to be in effect before the next boot"
	case o.Kind == VirtualMachine && (IsCloudInit(key) || key == "name" || r.syntax == cardSyntax):
		if c.Note = cloudInitNote; customSyntax.parse(nil, o.Keys["cicustom"].Text).text("meta") != "" {
			c.Note = pinnedInitNote
		}
	}
	return c
}
