package manifest_test

import (
	"slices"

	"gitops-agent/reconcile/guest"
)

// fieldsNotRaised are the fields that no adopted manifest sets, since no live value is behind them: wishes of people, what only
// counts at creation, and secrets.
var fieldsNotRaised = map[guest.Kind][]string{
	guest.VirtualMachine: slices.Concat(wishes, []string{
		"source.clone.format", "source.image.from", "source.image.image", "source.iso.image", "source.image.slot", "source.iso.volume", "source.iso.slot", "source.blank",
		"disks.*.absent", "disks.*.volume", "disks.*.format", "networks.*.absent", "serial.*.absent", "devices.*.absent",
		"directories.*.absent", "rng.absent", "watchdog.absent", "audio.absent",
		"cloudInit.ip.*.absent", "cloudInit.passwordFrom.file", "cloudInit.passwordFrom.sops.file", "cloudInit.passwordFrom.sops.key", "cloudInit.passwordFrom.age.file", "cloudInit.onChange",
	}),
	guest.Container: slices.Concat(wishes, []string{
		"source.template.volume", "source.template.image", "passwordFrom.file", "passwordFrom.sops.file", "passwordFrom.sops.key", "passwordFrom.age.file", "sshKeys",
		"mounts.*.absent", "mounts.*.volume", "networks.*.absent",
		"features.keyctl", "features.fuse", "features.mknod", "features.mount", // root@pam's
	}),
}

// everyFirewallField returns a firewall of which every field of a manifest says something.
func everyFirewallField() *guest.FirewallSeen {
	return &guest.FirewallSeen{
		Options: map[string]string{
			"enable": "1", "policy_in": "DROP", "policy_out": "ACCEPT", "log_level_in": "info", "log_level_out": "nolog", "dhcp": "1", "ndp": "0", "radv": "0", "ipfilter": "1",
			"macfilter": "0",
		},
		Rules: []guest.FirewallRule{
			{Type: "in", Action: "ACCEPT", Macro: "ssh", Source: "+admins", Interface: "net0", Enabled: true, Comment: "from: the office", Log: "info"},
			{Type: "in", Action: "ACCEPT", Protocol: "tcp", DestPort: "443", SourcePort: "1024:65535", Dest: "office"},
			{Type: "in", Action: "DROP", Protocol: "icmp", ICMPType: "echo-request", Enabled: true},
			{Type: "group", Action: "web", Enabled: true},
		},
		Named: true, Aliases: []guest.FirewallAlias{{Name: "Office", CIDR: "10.0.0.0/24", Comment: "second floor"}},
		Sets: []guest.FirewallSet{{Name: "admins", Comment: "people", Entries: []guest.FirewallEntry{{CIDR: "10.0.0.5", NoMatch: true, Comment: "not this"}}}},
	}
}

var wishes = []string{
	"backup", "placement.prefer", "placement.migrate", "placement.auto.prefer", "placement.auto.antiAffinity", "placement.auto.nodes", "ha.absent", "class", "mode", "suspend.reason", "suspend.author", "suspend.until", "dependsOn", "health.agent", "health.tcp", "health.http", "firewall.keepOthers", "firewall.guarded", "snapshots.schedule", "snapshots.keep", "wave", "lifecycle.destroy", "lifecycle.recreate", "lifecycle.rebootPolicy",
	"lifecycle.window", "lifecycle.shutdownTimeout", "lifecycle.forceStop", "lifecycle.startWithout", "ignoreFields", "unset",
	"source.clone.template", "source.clone.name", "source.clone.full", "source.clone.storage", "source.clone.snapshot",
	"source.backup.volume", "source.backup.storage", "source.backup.unique",
}
