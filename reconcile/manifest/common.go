package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// lowerHA checks the wanted entry with the HA manager, and compares it with the wanted run state.
func (c *common) lowerHA(l *lowering) {
	h := &c.ha.value
	if !c.ha.set {
		return
	}
	l.recordNative("ha", c.ha.place)
	for native, p := range map[string]place{"ha.state": h.state.place, "ha.max_restart": h.maxRestart.place, "ha.max_relocate": h.maxRelocate.place, "ha.failback": h.failback.place} {
		if p != (place{}) {
			l.recordNative(native, p)
		}
	}
	if h.absent.value && (h.state.set || h.maxRestart.set || h.maxRelocate.set || h.failback.set) {
		l.problem(c.ha.place, "got absent: true beside other fields, want it alone", "")
	}
	if against := stateAgainstHA[h.state.value]; against != "" && c.state.value == against {
		l.problem(c.state.place, "got state: "+against+" against state: "+h.state.value+" of "+l.describePlace(h.state.place)+
			", want states that agree: the HA manager decides", "leave state out of one of them")
	}
}

// stateAgainstHA is the run state that contradicts a state of the HA manager.
var stateAgainstHA = map[string]string{"started": string(guest.Stopped), "stopped": string(guest.Running), "disabled": string(guest.Running)}

// suspended returns the suspension, or nil if the guest is not suspended.
func (c *common) suspended(l *lowering) *guest.Suspension {
	if !c.suspend.set {
		return nil
	}
	s := c.suspend.value
	if s.reason.value == "" {
		l.missing(c.suspend.place, "got no reason, want one", "add reason: with an explanation")
	}
	return &guest.Suspension{Reason: s.reason.value, Author: s.author.value, Until: s.until.value}
}

// needBridge reports an interface of a new guest without a bridge. An existing guest may have such an interface.
func (c *common) needBridge(l *lowering, p place, n link) {
	if !n.bridge.set && !n.removed() && c.adopt.value != "ifUnmanaged" {
		l.missing(p, "got no bridge, want one for a new interface", "add bridge:, such as vmbr0")
	}
}

// nodes returns the nodes that the guest may be on, the preferred one first.
func (c *common) nodes() []string {
	if c.node.set {
		return []string{c.node.value}
	}
	return texts(c.placement.prefer)
}

// home returns the node to create the guest on, or "" if the manifest does not name one.
func (c *common) home() string {
	if nodes := c.nodes(); len(nodes) > 0 {
		return nodes[0]
	}
	return ""
}

// migration returns whether the guest is moved from another node.
func (c *common) migration() guest.Migration {
	if c.placement.migrate.set {
		return guest.Migration(c.placement.migrate.value)
	}
	return guest.MigrateDeny
}

// lowerPlacement checks where the guest may be, and records it under the name that ignoreFields uses.
func (c *common) lowerPlacement(l *lowering) {
	p := &c.placement
	if c.node.set {
		l.recordNative("node", c.node.place)
	}
	if p.prefer.set {
		l.recordNative("node", p.prefer.place)
	}
	switch {
	case c.node.set && p.prefer.set:
		l.problem(c.node.place, "got node beside "+l.describePlace(p.prefer.place)+", want one of the two", "null drops an inherited one")
	case p.prefer.set && len(p.prefer.value) == 0:
		l.missing(p.prefer.place, "got an empty list, want at least one node", "null leaves the field alone")
	case c.migration() != guest.MigrateDeny && c.home() == "" && !p.auto.set:
		l.missing(p.migrate.place, "got migrate: "+p.migrate.value+" without a node to move to", "add placement.prefer")
	}
}

func (c *common) needNode(l *lowering, p place) {
	if c.home() == "" && !c.placement.auto.set {
		l.missing(p, "got no node, want one to create the guest on", "add node: at the top of the spec, or placement: {auto: {}}")
	}
}

// common are the fields of every guest.
type common struct {
	vmid        opt[int]
	node        opt[string]
	placement   placement
	template    opt[bool]
	ha          opt[ha]
	class       textList
	description opt[string]
	tags        textList
	pool        opt[string]
	adopt       opt[string]
	state       opt[string]
	mode        opt[string]
	backup      opt[string]
	suspend     opt[suspension]
	dependsOn   textList
	health      health
	wave        opt[int]
	startup     startup
	lifecycle   lifecycle
	firewall    opt[firewall]
	snapshots   opt[snapshots]
	ignore      textList
	natives     textMap
	unset       textList
}

func (c *common) shared() *common { return c }

func (c *common) fields() []field {
	return []field{
		{"vmid", "", "The guest's number on the cluster. Default: the next free one of the Cluster's vmids.", withExamples(integer(&c.vmid, minVMID, maxVMID), `201`)},
		{"node", "node", "Node to create the guest on. Default: the node of the template that it is cloned from.", byHand(text(&c.node, nodeName))},
		{"placement", "", "Nodes that the guest may be on, and whether it is moved there; or how the agent chooses one.", withExamples(group(&c.placement), `{"prefer": ["pve1", "pve2"], "migrate": "offline"}`)},
		{"class", "", "GuestClasses to inherit from, later ones over earlier ones, this spec over all.", withExamples(list(&c.class, className, ""), `["debian", "small"]`)},
		{"description", "description", "Notes, shown in Markdown by the web interface.", withExamples(byHand(text(&c.description, anyText)), `"PostgreSQL for the web servers."`)},
		{"tags", "tags", "Tags, as a set: any other tag is removed from the guest. The order does not matter.", withExamples(byHand(list(&c.tags, tagName, ";")), `["prod", "web"]`)},
		{"pool", "pool", "Resource pool that the guest belongs to. Backup jobs and permissions may depend on pools.", byHand(text(&c.pool, poolName))},
		{"adopt", "", "ifUnmanaged takes over an existing guest that no agent manages; deny reports it as a conflict. Default: deny.", choice(&c.adopt, "deny", "ifUnmanaged")},
		{"state", "", "Power: running, stopped, or ignored to leave it alone. Default: ignored.", choice(&c.state, string(guest.Running), string(guest.Stopped), string(guest.Ignored))},
		{"ha", "ha", "What the cluster's HA manager does with the guest.", withExamples(child(&c.ha), `{"state": "started", "maxRestart": 2, "maxRelocate": 1}`, `{"absent": true}`)},
		{"template", "template", "Convert the guest to a template. This cannot be undone, and waits for a signed approval. false has no effect.", byHand(flag(&c.template))},
		{"mode", "", "observe plans and reports but writes nothing. Default: enforce.", choice(&c.mode, "enforce", "observe")},
		{"backup", "", "required: an enabled backup job has to cover the guest, and backups have to contain its volumes, except those with backup: false; else the guest has the condition no-backup. This is a guard: the field, the coverage, the volumes in backups and the retention are weakened only with approvals.", choice(&c.backup, "required")},
		{"suspend", "", "Stop all work on this guest.", withExamples(child(&c.suspend), `{"reason": "being moved to new disks", "author": "ops", "until": "2026-12-01"}`)},
		{"dependsOn", "", "Guests that must have converged, and be ready, before the agent creates, starts or interrupts this guest, as Kind/name.", list(&c.dependsOn, guestLabel, "")},
		{"health", "", "What shows that this guest is ready for the guests that depend on it. Default: its run state.", withExamples(group(&c.health), `{"agent": true}`, `{"tcp": "10.0.0.5:5432"}`)},
		{"wave", "", "Guests of lower waves go first. The agent stops waiting for a guest that failed five times. Default: 0.", integer(&c.wave, -1000, 1000)},
		{"startup", "", "What happens when a node boots or shuts down.", withExamples(group(&c.startup), `{"onBoot": true, "order": 2, "upDelay": "30s"}`)},
		{"lifecycle", "", "What may be done to this guest without asking.", withExamples(group(&c.lifecycle), `{"destroy": "deny", "rebootPolicy": "approve"}`)},
		{"firewall", "", "Proxmox's firewall for this guest. What is not mentioned is not managed.", withExamples(child(&c.firewall), `{"enable": true, "policyIn": "DROP", "rules": [{"type": "in", "action": "ACCEPT", "macro": "SSH"}]}`)},
		{"snapshots", "", "Snapshots that the agent takes by a schedule, and deletes when newer ones exist. It deletes no other snapshot.", withExamples(child(&c.snapshots), `{"schedule": "daily", "keep": 7}`)},
		{"ignoreFields", "", "Fields that are used to create the guest and are never compared afterwards, such as networks.net0.mac.", withExamples(list(&c.ignore, fieldPath, ""), `["description", "networks.net0.mac"]`)},
		{"raw", "", "Native Proxmox keys that have no field here, with their native values.", withExamples(nativeMap(&c.natives), `{"keyboard": "de", "localtime": true}`)},
		{"unset", "", "Native Proxmox keys that must not be set.", withExamples(list(&c.unset, nativeKey, ""), `["balloon"]`)},
	}
}

// lower checks and lowers fields by hand. Checks that need all other fields are in finish.
func (c *common) lower(l *lowering) {
	if c.description.set {
		l.put("description", c.description.place, normalizeDescription(c.description.value))
	}
	if c.tags.set {
		c.lowerTags(l)
	}
	if c.adopt.value == "ifUnmanaged" && !c.vmid.set {
		l.missing(c.adopt.place, "got adopt: ifUnmanaged without a vmid, want the vmid of the guest to adopt", "")
	}
	if c.pool.set {
		l.recordNative("pool", c.pool.place)
	}
	c.lowerTemplate(l)
	c.lowerPlacement(l)
	c.lowerAuto(l)
	c.lowerHA(l)
	c.lowerHealth(l)
	c.lowerSnapshots(l)
	c.lifecycle.check(l)
}

func (c *common) lowerTemplate(l *lowering) {
	if !c.template.set {
		return
	}
	l.recordNative("template", c.template.place)
	if c.template.value && c.state.value == string(guest.Running) {
		l.problem(c.state.place, "got state: running beside "+l.describePlace(c.template.place)+", but a template never runs", "leave state out")
	}
}

// lowerTags wants an empty list to be an empty set of tags, which differs from a missing field.
func (c *common) lowerTags(l *lowering) {
	tags := texts(c.tags)
	for _, tag := range c.tags.value {
		if len(guest.Markers(tag.value)) > 0 {
			l.problem(tag.place, "tag "+tag.value+" looks like an ownership marker, which the agent sets itself", "leave it out")
		}
	}
	slices.Sort(tags)
	l.put("tags", c.tags.place, strings.Join(tags, ";"))
	l.intents["tags"].Verb = guest.Want
}

// normalizeDescription returns a description as Proxmox returns it: with line feeds only, and without white space at the end.
func normalizeDescription(description string) string {
	return strings.TrimRight(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(description), " \t\n")
}

// finish sets native keys by hand after all other fields, and translates ignoreFields.
func (c *common) finish(l *lowering, s spec) []string {
	for _, key := range slices.Sorted(maps.Keys(c.natives)) {
		l.raw(key, c.natives[key])
	}
	for _, key := range c.unset.value {
		l.unset(key)
	}
	var out []string
	for _, path := range c.ignore.value {
		if wrong := checkIgnoredPath(s, l, path.value); wrong != nil {
			l.problem(path.place, wrong.message, wrong.hint)
		}
		out = append(append(out, l.nativesOf(path.value)...), usedAtCreation(s, l.kind, path.value)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// usedAtCreation returns the native name of a field that is used at creation only, also if the manifest does not set the field any more: the guest still has it.
func usedAtCreation(s spec, kind guest.Kind, path string) []string {
	for _, row := range s.fields() {
		if row.name == path && guest.IsAtCreation(kind, row.native) {
			return []string{row.native}
		}
	}
	return nil
}

// startup is what happens when a node boots or shuts down.
type startup struct {
	onBoot            opt[bool]
	order             opt[int]
	upDelay, downWait opt[time.Duration]
}

func (s *startup) fields() []field {
	return []field{
		{"onBoot", "onboot", "Start the guest when its node boots.", flag(&s.onBoot)},
		{"order", "startup.order", "Guests of lower order start first and stop last.", integer(&s.order, 0, 1000000)},
		{"upDelay", "startup.up", "Wait this long after starting the guest before the next one starts.", duration(&s.upDelay, maxDelay)},
		{"downDelay", "startup.down", "Wait this long for the guest to shut down.", duration(&s.downWait, maxDelay)},
	}
}

// spec is what VirtualMachine and Container have in common as Go values.
type spec interface {
	object
	shared() *common
	defaultName(l *lowering, name opt[string])
	source(l *lowering) guest.Source
	refresh() bool // see guest.Desired.Refresh
}

// checkIgnoredPath checks that a path names a field that is compared with the live guest. Paths with slots match their pattern, networks.*.mac.
func checkIgnoredPath(s spec, l *lowering, path string) *rejection {
	var known, native bool
	var candidates []string
	walkObject(s, "", func(pattern string, row field) {
		candidates = append(candidates, withSegmentsOf(pattern, path))
		matched := matches(pattern, path)
		known = known || matched
		native = native || row.native != "" && (matched || matches(firstSegments(pattern, strings.Count(path, ".")+1), path))
	})
	field, named := l.setBy[path]
	switch {
	case !known && named && field.path != path:
		return &rejection{"got " + tree.Quote(path) + ", want the path of a field", didYouMean(field.path)}
	case !known:
		return &rejection{"got " + tree.Quote(path) + ", want the path of a field", didYouMean(closest(path, candidates))}
	case !native && len(l.nativesOf(path)) == 0 && !l.partial:
		return &rejection{fmt.Sprintf("field %s is never compared with the live guest", path), leaveAloneHints[path]}
	default:
		return nil
	}
}

// leaveAloneHints are the alternatives for fields that are not part of the guest's configuration.
var leaveAloneHints = map[string]string{"state": "set state: ignored", "placement.migrate": "set migrate: deny"}
