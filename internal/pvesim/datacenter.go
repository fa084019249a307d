package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// clusterOptions shows options of the datacenter. Options that have their default value are mostly absent, and most are shown to callers with
// Sys.Audit only.
//
// Source: PVE::API2::Cluster get_options.
func clusterOptions(c *call) (reply, error) {
	d := c.sim.opts.Cluster
	var o object
	o.raw("allowed-tags", stringArray(c.sim.allowedTags(c.caller)))
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
	if c.require("/", "Sys.Audit") != nil {
		return dataReply(o.bytes())
	}
	if len(d.Scheduler) > 0 {
		var scheduler object
		for _, k := range sortedKeys(d.Scheduler) {
			if integerText.MatchString(d.Scheduler[k]) {
				scheduler.num(k, int64(atoi(d.Scheduler[k])))
			} else {
				scheduler.str(k, d.Scheduler[k])
			}
		}
		o.raw("crs", scheduler.bytes())
	}
	o.str("mac_prefix", "BC:24:11")
	o.str("description", "")
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
//
// Source: PVE::GuestHelpers assert_tag_permissions.
func (c *call) permitTags(vmid int, value string) error {
	var old []string
	if g := c.sim.guests[vmid]; g != nil {
		old = listOf(g.conf.Values["tags"])
	}
	return c.permitTagChange(old, value)
}

// permitNewTags checks the tags of a new VM. Proxmox compares them with a reference to an empty hash, whose text counts as a tag that the call
// removes. So a caller without Sys.Modify can create a VM with tags only if any tag is free. The state is locked.
//
// Source: PVE::API2::Qemu create_vm.
func (c *call) permitNewTags(value string) error {
	return c.permitTagChange([]string{"HASH(0x5610f0a7e9d8)"}, value)
}

func (c *call) permitTagChange(old []string, value string) error {
	d := c.sim.opts.Cluster
	if d.TagAccess == "" && len(d.RegisteredTags) == 0 || c.require("/", "Sys.Modify") == nil {
		return nil
	}
	allowed := c.sim.allowedTags(c.caller)
	now := listOf(c.sim.normalizeTags(value))
	for _, t := range append(slices.Clone(now), old...) {
		changed := slices.Contains(old, t) != slices.Contains(now, t)
		free := slices.Contains(allowed, t) || d.TagAccess == "" || d.TagAccess == "free"
		if changed && (!free || slices.Contains(d.RegisteredTags, t)) {
			return forbidden("/, Sys.Modify for modifying tag '" + t + "'")
		}
	}
	return nil
}

// allowedTags returns the tags that the caller may set although not every tag is free. The state is locked.
//
// Source: PVE::GuestHelpers get_allowed_tags.
func (s *Sim) allowedTags(who *credential) []string {
	d := s.opts.Cluster
	privileged := s.allows(who, "/", "Sys.Modify")
	tags := map[string]bool{}
	if d.TagAccess != "none" || privileged {
		for _, t := range d.AllowedTags {
			tags[t] = true
		}
	}
	if d.TagAccess == "" || d.TagAccess == "free" || d.TagAccess == "existing" || privileged {
		for vmid, g := range s.guests {
			if !privileged && !s.allows(who, "/vms/"+itoa(vmid), "VM.Audit") {
				continue
			}
			for _, t := range listOf(g.conf.Values["tags"]) {
				tags[t] = true
			}
		}
	}
	for _, t := range d.RegisteredTags {
		if privileged {
			tags[t] = true
		} else {
			delete(tags, t)
		}
	}
	return slices.Sorted(maps.Keys(tags))
}
