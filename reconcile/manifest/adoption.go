package manifest

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"gitops-agent/reconcile/guest"
)

// AdoptOptions are the options of Adopt. Cluster and Name are required.
type AdoptOptions struct {
	Cluster string // name of the cluster, for the comment
	Name    string // metadata.name; AdoptName returns a free name
	Env     bool   // also pin the environment of containers, which may contain secrets
}

// LeftOut is a native key, or key.sub-key, that an adopted manifest does not pin. It does not contain the value, which may be a secret.
type LeftOut struct{ Key, Reason string }

// adoption writes the manifest of one guest. Every key starts in its field, and moves to raw and then to the comment if it cannot be expressed
// there.
type adoption struct {
	seen     guest.Observed
	opts     AdoptOptions
	live     map[string]string   // native keys to pin
	raw      map[string]bool     // keys of live that are under raw
	firewall *guest.FirewallSeen // to pin; nil for none
	left     map[string]string   // key or key.sub -> reason
}

// pinProblem is the reason why a key, or one of its sub-keys such as "features.keyctl", cannot be pinned.
type pinProblem struct{ key, reason string }

func (a *adoption) leftOut() []LeftOut {
	var out []LeftOut
	for _, key := range slices.Sorted(maps.Keys(a.left)) {
		out = append(out, LeftOut{onOneLine(key), onOneLine(a.left[key])})
	}
	return out
}

// readAt returns the time at which the guest was read, in whole seconds.
func (a *adoption) readAt() string {
	return a.seen.ReadAt.UTC().Truncate(time.Second).Format(time.RFC3339)
}

// onOneLine returns text without characters that end a comment or that YAML does not allow.
func onOneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || strings.ContainsRune("\u2028\u2029\ufeff\ufffe\uffff", c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
}
