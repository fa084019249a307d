package pvesim

import (
	"crypto/sha1" //nolint:gosec // the API's digests are SHA-1
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// firewall is one firewall file: of the cluster, of a node or of a vmid. A virtual machine and a container with the same vmid share it, and it exists
// without a guest. It is not part of the guest's configuration, of its snapshots or of its lock.
//
// Source: PVE::Firewall.
type firewall struct {
	options values
	rules   []values // in order; the keys of ruleKeys
	aliases map[string]values
	ipsets  map[string]*ipset
	groups  map[string]*ruleGroup // of the cluster only
}

type ipset struct {
	comment string
	entries map[string]values // cidr, nomatch, comment
}

type ruleGroup struct {
	comment string
	rules   []values
}

func newFirewall() *firewall {
	return &firewall{options: values{}, aliases: map[string]values{}, ipsets: map[string]*ipset{}, groups: map[string]*ruleGroup{}}
}

// copied returns the firewall as a clone receives it.
func (f *firewall) copied() *firewall {
	n := newFirewall()
	maps.Copy(n.options, f.options)
	for _, r := range f.rules {
		n.rules = append(n.rules, maps.Clone(r))
	}
	for name, a := range f.aliases {
		n.aliases[name] = maps.Clone(a)
	}
	for name, set := range f.ipsets {
		entries := map[string]values{}
		for cidr, e := range set.entries {
			entries[cidr] = maps.Clone(e)
		}
		n.ipsets[name] = &ipset{comment: set.comment, entries: entries}
	}
	return n
}

// The names of the firewall files.
const clusterFirewall = "cluster"

func guestFirewall(vmid int) string { return "vm/" + strconv.Itoa(vmid) }

// firewallOf returns a firewall file, which a write creates. The state is locked.
func (s *Sim) firewallOf(file string) *firewall {
	if f := s.firewalls[file]; f != nil {
		return f
	}
	f := newFirewall()
	s.firewalls[file] = f
	return f
}

// cloneFirewall replaces the firewall of a vmid by a copy of another one. The state is locked.
func (s *Sim) cloneFirewall(from, to int) {
	if f := s.firewalls[guestFirewall(from)]; f != nil {
		s.firewalls[guestFirewall(to)] = f.copied()
	} else {
		delete(s.firewalls, guestFirewall(to))
	}
}

// firewallDigest returns the digest of objects: a hash of their values in order, without the digest, the position and the errors.
func firewallDigest(objects ...values) string {
	h := sha1.New() //nolint:gosec // the API's digests are SHA-1
	for _, o := range objects {
		for _, k := range sortedKeys(o) {
			h.Write([]byte(k + ":" + o[k] + "\n"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// checkFirewallDigest rejects a digest of another state. No digest is always right.
func (c *call) checkFirewallDigest(digest string) error {
	if d := c.params["digest"]; d != "" && d != digest {
		return apiErrorf("detected modified configuration - file changed by other user? Try again.")
	}
	return nil
}

// aliasList returns the aliases sorted by name. Each has its name, cidr, ipversion and comment.
func (f *firewall) aliasList() []values {
	var list []values
	for _, name := range slices.Sorted(maps.Keys(f.aliases)) {
		list = append(list, f.aliases[name])
	}
	return list
}

func (f *firewall) ipsetList() []values {
	var list []values
	for _, name := range slices.Sorted(maps.Keys(f.ipsets)) {
		v := values{"name": name}
		if c := f.ipsets[name].comment; c != "" {
			v["comment"] = c
		}
		list = append(list, v)
	}
	return list
}

func (f *firewall) groupList() []values {
	var list []values
	for _, name := range slices.Sorted(maps.Keys(f.groups)) {
		v := values{"group": name}
		if c := f.groups[name].comment; c != "" {
			v["comment"] = c
		}
		list = append(list, v)
	}
	return list
}

func (s *ipset) entryList() []values {
	var list []values
	for _, cidr := range slices.Sorted(maps.Keys(s.entries)) {
		list = append(list, s.entries[cidr])
	}
	return list
}

// firewallNumbers are the keys that the API shows as numbers.
var firewallNumbers = map[string]bool{
	"enable": true, "dhcp": true, "ndp": true, "radv": true, "ipfilter": true, "macfilter": true, "ebtables": true, "ipversion": true, "nomatch": true,
}

func firewallObject(v values) *object {
	o := &object{}
	for _, k := range sortedKeys(v) {
		if firewallNumbers[k] {
			o.num(k, int64(atoi(v[k])))
		} else {
			o.str(k, v[k])
		}
	}
	return o
}

// firewallListReply shows a list, each element with the digest of the list.
func firewallListReply(list []values) (reply, error) {
	var a array
	digest := firewallDigest(list...)
	for _, v := range list {
		o := firewallObject(v)
		o.str("digest", digest)
		a.add(o)
	}
	return dataReply(a.bytes())
}

// firewallLine returns a comment as it is stored in a line of the file: without its further lines and without blanks at both ends.
func firewallLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(first)
}
