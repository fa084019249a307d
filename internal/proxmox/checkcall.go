package proxmox

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// checkCall refuses what a Call must not carry, and what Proxmox would understand as something else.
func checkCall(call cluster.Call) error {
	problems := []error{checkReserved(call), checkDelete(call), checkShape(call)}
	for _, key := range slices.Sorted(maps.Keys(call.Secrets)) {
		if _, ok := call.Params[key]; !ok {
			problems = append(problems, fmt.Errorf("%s: its secret was not filled in", key))
		}
	}
	return errors.Join(problems...)
}

// checkReserved refuses parameters that a Call has a field for, and those that widen a call's effect: force destroys the volume
// of a detached disk, skiplock ignores a running backup.
func checkReserved(call cluster.Call) error {
	var problems []error
	for _, key := range []string{"digest", "delete", "force", "skiplock"} {
		if key == "delete" && call.Op == cluster.OpMove {
			continue // there it says what becomes of the source
		}
		if _, ok := call.Params[key]; ok {
			problems = append(problems, fmt.Errorf("parameter %s is not allowed here", key))
		}
	}
	return errors.Join(problems...)
}

func checkDelete(call cluster.Call) error {
	var problems []error
	switch {
	case call.Op == cluster.OpConfig && len(call.Params)+len(call.Delete) == 0:
		problems = append(problems, errors.New("nothing to set or delete"))
	case call.Op != cluster.OpConfig && len(call.Delete) > 0:
		problems = append(problems, errors.New("keys to delete go with a config call"))
	}
	for _, key := range call.Delete {
		if !paramName.MatchString(key) {
			problems = append(problems, fmt.Errorf("delete: %q is not a parameter name", key))
		}
	}
	return errors.Join(problems...)
}

// checkShape refuses an operation's call that lacks what makes it one.
func checkShape(call cluster.Call) error {
	switch op := call.Op; {
	case op == cluster.OpMove:
		if call.Params["disk"] == "" || call.Params["storage"] == "" {
			return errors.New("a move needs disk and storage")
		}
	case op == cluster.OpPool:
		if !poolName.MatchString(call.Params["poolid"]) {
			return fmt.Errorf("%q is not a pool name", call.Params["poolid"])
		}
	case op == cluster.OpMigrate:
		if target := call.Params["target"]; target == call.Node {
			return fmt.Errorf("migrate to %s: the guest is there", target)
		}
		return checkNode(call.Params["target"])
	case op == cluster.OpCloudInit:
		if call.Kind != guest.VirtualMachine {
			return errors.New("a container has no cloud-init drive")
		}
		return checkEmpty(call)
	case op == cluster.OpTemplate || op == cluster.OpHARemove:
		return checkEmpty(call)
	}
	return nil
}

func checkEmpty(call cluster.Call) error {
	if len(call.Params) > 0 {
		return fmt.Errorf("%s takes no parameters", call.Op)
	}
	return nil
}
