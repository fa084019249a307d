package cluster

import (
	"gitops-agent/reconcile/guest"
)

// Op names what a step does. It is a label of metrics and a word of plans.
type Op string

// Operations of steps.
const (
	OpCreate    Op = "create"
	OpConfig    Op = "config"
	OpResize    Op = "resize"
	OpMove      Op = "move"
	OpCloudInit Op = "cloudinit"
	OpPool      Op = "pool"
	OpHAAdd     Op = "ha-add"
	OpHASet     Op = "ha-set"
	OpHARemove  Op = "ha-remove"
	OpMigrate   Op = "migrate"
	OpTemplate  Op = "template"
	OpStart     Op = "start"
	OpReboot    Op = "reboot"
	OpShutdown  Op = "shutdown"
	OpStop      Op = "stop"
	OpDestroy   Op = "destroy"
)

// Ops lists every operation, in the order of a guest's life.
func Ops() []Op {
	return []Op{
		OpCreate, OpMigrate, OpConfig, OpResize, OpMove, OpCloudInit, OpPool, OpHAAdd, OpHASet, OpHARemove, OpTemplate, OpStart, OpReboot,
		OpShutdown, OpStop, OpDestroy,
	}
}

// IsHeavy reports whether an operation costs so much that a fight over it must be slow.
func IsHeavy(op Op) bool { return op == OpMigrate || op == OpMove || op == OpReboot }

// TaskTypes returns the worker types that Proxmox files the call's task under.
//
// Source: PVE API, fork_worker calls of API2/Qemu.pm and API2/LXC.pm.
func TaskTypes(call Call) []string {
	vm := map[Op][]string{
		OpCreate: {"qmcreate", "qmrestore"}, OpConfig: {"qmconfig"}, OpResize: {"resize"}, OpMove: {"qmmove"},
		OpMigrate: {"qmigrate", "hamigrate"}, OpTemplate: {"qmtemplate"}, OpStart: {"qmstart", "hastart"}, OpReboot: {"qmreboot"},
		OpShutdown: {"qmshutdown", "hastop"}, OpStop: {"qmstop", "hastop"}, OpDestroy: {"qmdestroy"},
	}
	ct := map[Op][]string{
		OpCreate: {"vzcreate", "vzrestore"}, OpResize: {"resize"}, OpMove: {"move_volume"},
		OpMigrate: {"vzmigrate", "hamigrate"}, OpTemplate: {"vztemplate"}, OpStart: {"vzstart", "hastart"}, OpReboot: {"vzreboot"},
		OpShutdown: {"vzshutdown", "hastop"}, OpStop: {"vzstop", "hastop"}, OpDestroy: {"vzdestroy"},
	}
	switch {
	case call.CloneOf != 0 && call.Kind == guest.Container:
		return []string{"vzclone"}
	case call.CloneOf != 0:
		return []string{"qmclone"}
	case call.Kind == guest.Container:
		return ct[call.Op]
	default:
		return vm[call.Op]
	}
}
