package encode

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// checkCall rejects a Call that has forbidden parameters, or that Proxmox would carry out in another way than meant.
func checkCall(call cluster.Call) error {
	problems := []error{checkReserved(call), checkDelete(call), checkShape(call)}
	for _, key := range slices.Sorted(maps.Keys(call.Secrets)) {
		if _, ok := call.Params[key]; !ok {
			problems = append(problems, fmt.Errorf("%s: the secret was not filled in", key))
		}
	}
	return errors.Join(problems...)
}

// checkReserved rejects parameters that a Call has a field for, and parameters with a wider effect: force destroys the volume
// of a detached disk, skiplock ignores a running backup.
func checkReserved(call cluster.Call) error {
	var problems []error
	for _, key := range []string{"digest", "delete", "force", "skiplock"} {
		if key == "delete" && call.Op == cluster.OpMove {
			continue // here the parameter states whether the source volume is deleted
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
	case call.Op != cluster.OpConfig && call.Op != cluster.OpFirewall && len(call.Delete) > 0:
		problems = append(problems, errors.New("keys to delete go with a config call"))
	}
	for _, key := range call.Delete {
		if !paramName().MatchString(key) {
			problems = append(problems, fmt.Errorf("delete: %q is not a parameter name", key))
		}
	}
	return errors.Join(problems...)
}

// shapes are the checks of the operations whose call needs certain parameters, or none.
var shapes = map[cluster.Op]func(cluster.Call) error{
	cluster.OpMove:      checkMove,
	cluster.OpPool:      checkPool,
	cluster.OpMigrate:   checkMigrate,
	cluster.OpFirewall:  checkFirewall,
	cluster.OpCloudInit: checkCloudInit,
	cluster.OpTemplate:  checkEmpty,
	cluster.OpHARemove:  checkEmpty,
	cluster.OpReset:     checkEmpty,
	cluster.OpSuspend:   checkEmpty,
	cluster.OpResume:    checkEmpty,

	cluster.OpSnapshot:       checkSnapshot,
	cluster.OpDeleteSnapshot: checkSnapshotOnly,
	cluster.OpRollback:       checkSnapshotOnly,
	cluster.OpBackup:         checkBackup,
}

// checkShape returns an error for a call that lacks a parameter that its operation needs, or has parameters that its operation does not take.
func checkShape(call cluster.Call) error {
	if check := shapes[call.Op]; check != nil {
		return check(call)
	}
	return nil
}

func checkMove(call cluster.Call) error {
	if call.Params["disk"] == "" || call.Params["storage"] == "" {
		return errors.New("a move needs disk and storage")
	}
	return nil
}

func checkPool(call cluster.Call) error {
	if !PoolName().MatchString(call.Params["poolid"]) {
		return fmt.Errorf("%q is not a pool name", call.Params["poolid"])
	}
	return nil
}

func checkMigrate(call cluster.Call) error {
	if target := call.Params["target"]; target == call.Node {
		return fmt.Errorf("migrate to %s: the guest is on this node already", target)
	}
	return route.CheckNode(call.Params["target"])
}

func checkCloudInit(call cluster.Call) error {
	if call.Kind != guest.VirtualMachine {
		return errors.New("a container has no cloud-init drive")
	}
	return checkEmpty(call)
}

// snapshotName matches the names of snapshots. The name becomes a part of a path.
var snapshotName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + guest.SnapshotName + "$") })

func checkSnapshot(call cluster.Call) error {
	if name := call.Params[cluster.ParamSnapshot]; !snapshotName().MatchString(name) {
		return fmt.Errorf("%q is not a name of a snapshot", name)
	}
	return nil
}

func checkSnapshotOnly(call cluster.Call) error {
	if len(call.Params) > 1 {
		return fmt.Errorf("%s takes no parameter but %s", call.Op, cluster.ParamSnapshot)
	}
	return checkSnapshot(call)
}

// checkBackup rejects a backup without a storage, which would be written to a storage of the node's choice, and parameters that delete other backups.
func checkBackup(call cluster.Call) error {
	if call.Params["storage"] == "" {
		return errors.New("a backup needs a storage")
	}
	for key := range call.Params {
		if !slices.Contains([]string{"storage", "mode", "compress", "protected", "notes-template", "remove"}, key) {
			return fmt.Errorf("parameter %s is not allowed here", key)
		}
	}
	return nil
}

func checkEmpty(call cluster.Call) error {
	if len(call.Params) > 0 {
		return fmt.Errorf("%s takes no parameters", call.Op)
	}
	return nil
}
