//go:build integration

package crash

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// machine is a guest that the worlds's manifests name, and what must have happened to it.
type machine struct {
	file, name  string
	kind        string // VirtualMachine or Container
	source      string // of the manifest
	vmid        int    // 0 while nobody knows which one the agent assigned
	assigned    bool   // the manifest names no vmid
	memory      int    // MiB
	description string
	disk        string // key of the disk in the manifest; "" if the manifest does not name it
	size        int    // GiB
	storage     string
	running     bool
	template    bool
	node        string // "" leaves the guest where it is
	ha          string // of the manifest
	class       bool
	secret      string // name of the file with the password
	destroy     string // lifecycle.destroy
	adopted     bool
	reboot      string   // lifecycle.rebootPolicy; "" is auto
	dependsOn   *machine // nil if it depends on none
	ports       []int    // of the rules of its firewall; nil if the manifest has no firewall
	guarded     bool     // its firewall: opening it needs an approval
	asked       []int    // the ports of its manifest, if they open its guarded firewall and wait for an approval; nil if they are ports
	formerPorts []int    // ports at the end of the round before
	service     *service // that shows whether it is ready; nil if its run state does

	snapshots bool            // its storage takes snapshots
	schedule  string          // of snapshots; "" if the manifest has none
	due       time.Time       // the newest time of the schedule
	theirs    map[string]bool // names of snapshots of the agent that a person made theirs
	own       int             // snapshots that the agent took by a schedule, knows and has not deleted
	snapshot  string          // that a person ordered, and that it may have; "" if it has none

	wanted  bool // a manifest names it
	changed bool // in this round
	approve bool // every step of it that the agent holds is approved, but not the opening of its guarded firewall while asked is not nil
	effects map[string]int
}

// must says that an effect must happen to the guest.
func (g *machine) must(effects ...string) {
	for _, e := range effects {
		g.effects[e]++
	}
}

// manifest returns the manifest of a kind.
func manifest(kind, name string, lines ...string) string {
	return fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n  %s\n", kind, name, strings.Join(lines, "\n  "))
}

func (g *machine) manifest() string {
	state := "stopped"
	if g.running {
		state = "running"
	}
	lines := []string{
		"state: " + state, fmt.Sprintf("memory: {size: %dMi}", g.memory), fmt.Sprintf("description: %q", g.description),
		fmt.Sprintf("lifecycle: {destroy: %s, rebootPolicy: %s}", g.destroy, cmp.Or(g.reboot, "auto")),
	}
	add := func(condition bool, line string) {
		if condition {
			lines = append(lines, line)
		}
	}
	add(!g.assigned, fmt.Sprintf("vmid: %d", g.vmid))
	add(g.source != "", "source: "+g.source)
	add(g.adopted, "adopt: ifUnmanaged")
	add(g.node != "" && g.kind == "VirtualMachine", fmt.Sprintf("placement: {prefer: [%s], migrate: %s}", g.node, map[bool]string{true: "online", false: "offline"}[g.isUnderHA()]))
	add(g.node != "" && g.kind == "Container", "node: "+g.node)
	add(g.disk == "rootfs", fmt.Sprintf("rootfs: {storage: %s, size: %dGi}", g.storage, g.size))
	add(g.disk != "" && g.disk != "rootfs", fmt.Sprintf("disks: {%s: {storage: %s, size: %dGi}}", g.disk, g.storage, g.size))
	add(g.template, "template: true")
	add(g.ha != "", "ha: "+g.ha)
	add(g.class, "class: common")
	add(g.secret != "", fmt.Sprintf("cloudInit: {user: ops, passwordFrom: {file: %s}}", g.secret))
	add(g.ports != nil, g.firewallText())
	add(g.schedule != "", fmt.Sprintf("snapshots: {schedule: %q, keep: %d}", g.schedule, keptSnapshots))
	if on := g.dependsOn; on != nil && on.wanted {
		add(true, fmt.Sprintf("dependsOn: [%s/%s]", on.kind, on.name))
	}
	if g.service != nil {
		add(true, fmt.Sprintf("health: {tcp: %q}", g.service.address))
	}
	return manifest(g.kind, g.name, lines...)
}
