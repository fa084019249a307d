package lastseen

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Values are fingerprints of values by key: native keys, and for what has calls of its own the keys of guest.Diff, "state" and "firewall". A reading has notRead for a
// key that it lacks, which the journal never has.
type Values map[string]string

// notRead stands for a value that could not be read.
const notRead = ""

// Keys that are no native keys.
const (
	keyState    = "state"  // the run state
	keyExists   = "exists" // whether there is an object; no reading has it
	keyFirewall = "firewall"
)

// OfGuest returns the values of a reading that its manifest is compared with. The value of a native key is its text together with its pending change. What the HA manager
// and the firewall have is read by calls of their own, which may fail.
func OfGuest(d *guest.Desired, live guest.Observed) Values {
	now := make(Values, len(d.Intents)+4)
	for _, in := range d.Intents {
		now[in.Key] = OfValue(live.Keys[in.Key])
	}
	for _, s := range d.Secrets {
		now[s.Key] = OfValue(live.Keys[s.Key])
	}
	now["tags"] = OfValue(live.Keys["tags"])
	now["node"] = fingerprint(live.Node)
	if d.State == guest.Running || d.State == guest.Stopped {
		now[keyState] = ifRead(live.Status != guest.StatusUnknown, string(live.Status))
	}
	if d.HA != nil {
		now["ha"] = ifRead(!live.HA || live.Resource != nil, fmt.Sprint(live.HA, live.Resource))
	}
	if d.Pool != "" {
		now["pool"] = fingerprint(live.Pool)
	}
	if d.Template {
		now["template"] = fingerprint(strconv.FormatBool(live.Template))
	}
	if d.Firewall != nil {
		now[keyFirewall] = notRead
		if f := live.Firewall; f != nil && f.Err == "" && (f.Named || !d.Firewall.NamesManaged()) {
			text := fmt.Sprint(f.Options, f.Rules, f.Named, f.Aliases, f.Sets)
			if names := namesOf(f); len(names) > 0 {
				text += fmt.Sprint(names)
			}
			now[keyFirewall] = fingerprint(text)
		}
	}
	return now
}

// namesOf returns the names of a firewall, which the texts of aliases and sets leave out.
func namesOf(f *guest.FirewallSeen) []string {
	var names []string
	for _, a := range f.Aliases {
		names = append(names, a.Name)
	}
	for _, s := range f.Sets {
		names = append(names, s.Name)
	}
	return names
}

func ifRead(isRead bool, text string) string {
	if !isRead {
		return notRead
	}
	return fingerprint(text)
}

// OfObject returns the values of a reading of an object that is no guest.
func OfObject(live cluster.Object) Values {
	now := make(Values, len(live.Keys))
	for key, text := range live.Keys {
		now[key] = fingerprint(text)
	}
	return now
}

// OfValue returns the fingerprint of what a native key is now and after the next start.
func OfValue(v guest.Value) string {
	text := strconv.FormatBool(v.Set) + v.Text
	if v.Delete {
		text += "\x00delete"
	}
	if v.Pending != nil {
		text += "\x00" + *v.Pending
	}
	return fingerprint(text)
}

// fingerprint returns 48 bits of the SHA-256 sum of a text: enough to tell the values of one key from another.
func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// keyOf returns the key of Values that a change concerns. The firewall of a guest is one value.
func keyOf(c guest.Change) string {
	if strings.HasPrefix(c.Key, keyFirewall+".") {
		return keyFirewall
	}
	return c.Key
}
