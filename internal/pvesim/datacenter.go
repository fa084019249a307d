package pvesim

import (
	"slices"
	"strings"
)

// clusterOptions shows options of the datacenter. Options that have their default value are mostly absent.
func clusterOptions(c *call) (reply, error) {
	d := c.sim.opts.Cluster
	var o object
	o.str("mac_prefix", "BC:24:11")
	o.raw("allowed-tags", stringArray(d.AllowedTags))
	o.str("description", "")
	if d.CaseSensitiveTags || d.TagsAsGiven {
		var style object
		if d.CaseSensitiveTags {
			style.num("case-sensitive", 1)
		}
		if d.TagsAsGiven {
			style.str("ordering", "config")
		}
		o.raw("tag-style", style.bytes())
	}
	if len(d.RegisteredTags) > 0 {
		o.raw("registered-tags", stringArray(d.RegisteredTags))
	}
	if d.TagAccess != "" {
		var access object
		access.str("user-allow", d.TagAccess)
		if len(d.AllowedTags) > 0 {
			access.raw("user-allow-list", stringArray(d.AllowedTags))
		}
		o.raw("user-tag-access", access.bytes())
	}
	return dataReply(o.bytes())
}

func stringArray(list []string) []byte {
	var a array
	for _, s := range list {
		a.raw(jsonString(s))
	}
	return a.bytes()
}

// normalizeTags removes duplicates and joins the tags with semicolons, in lower case and sorted unless the options of the datacenter
// differ. Without tags the stored value is empty.
func (s *Sim) normalizeTags(text string) string {
	if !s.opts.Cluster.CaseSensitiveTags {
		text = strings.ToLower(text)
	}
	tags := listOf(text)
	if !s.opts.Cluster.TagsAsGiven {
		slices.Sort(tags)
	}
	seen := map[string]bool{}
	return strings.Join(slices.DeleteFunc(tags, func(t string) bool {
		duplicate := seen[t]
		seen[t] = true
		return duplicate
	}), ";")
}

// permitTags returns an error if the call adds or removes a tag that only a caller with Sys.Modify may change. The state is locked.
func (c *call) permitTags(vmid int, value string) error {
	d := c.sim.opts.Cluster
	if d.TagAccess == "" && len(d.RegisteredTags) == 0 || c.require("/", "Sys.Modify") == nil {
		return nil
	}
	var old []string
	if g := c.sim.guests[vmid]; g != nil {
		old = listOf(g.conf.Values["tags"])
	}
	now := listOf(c.sim.normalizeTags(value))
	for _, t := range append(slices.Clone(old), now...) {
		if slices.Contains(old, t) != slices.Contains(now, t) && !c.sim.isFreeTag(t) {
			return forbidden("/, Sys.Modify")
		}
	}
	return nil
}

// isFreeTag reports whether any user may set the tag. The state is locked.
func (s *Sim) isFreeTag(tag string) bool {
	d := s.opts.Cluster
	if slices.Contains(d.RegisteredTags, tag) {
		return false
	}
	switch d.TagAccess {
	case "", "free":
		return true
	case "existing":
		for _, g := range s.guests {
			if slices.Contains(listOf(g.conf.Values["tags"]), tag) {
				return true
			}
		}
	case "none":
		return false
	}
	return slices.Contains(d.AllowedTags, tag)
}
