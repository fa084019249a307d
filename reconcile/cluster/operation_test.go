package cluster

import (
	"slices"
	"testing"

	"gitops-agent/reconcile/guest"
)

func TestOperationsAreListedOnce(t *testing.T) {
	for i, op := range Ops() {
		if got := op.Position(); got != i {
			t.Errorf("%s: got position %d, want %d", op, got, i)
		}
	}
	if got := Op("dance").Position(); got != -1 {
		t.Errorf("got position %d of an unknown operation, want -1", got)
	}
}

// Each property holds for exactly the operations named here.
func TestOperationProperties(t *testing.T) {
	tests := map[string]struct {
		is   func(Op) bool
		want []Op
	}{
		"heavy":           {Op.IsHeavy, []Op{OpMigrate, OpMove, OpReboot, OpDownload}},
		"limited":         {Op.IsLimited, []Op{OpConfig, OpResize, OpMove, OpCloudInit, OpPool, OpHAAdd, OpHASet, OpHARemove, OpFirewall, OpObjectSet}},
		"run_state":       {Op.IsRunState, []Op{OpStart, OpShutdown, OpStop}},
		"reaches_running": {func(op Op) bool { return op.Reaches() == guest.StatusRunning }, []Op{OpStart, OpReboot}},
		"reaches_stopped": {func(op Op) bool { return op.Reaches() == guest.StatusStopped }, []Op{OpShutdown, OpStop}},
		"boots":           {Op.Boots, []Op{OpStart, OpReboot}},
		"writes_config":   {Op.WritesConfig, []Op{OpConfig, OpResize, OpMove}},
		"leaves_task":     {Op.LeavesTask, []Op{OpMigrate, OpTemplate, OpReboot, OpReset, OpSuspend, OpResume, OpSnapshot, OpDeleteSnapshot, OpRollback, OpBackup, OpDownload, OpDeleteFile}},
		"order_only":      {Op.IsOrderOnly, []Op{OpReset, OpSuspend, OpResume, OpSnapshot, OpDeleteSnapshot, OpRollback, OpBackup}},
		"needs_snapshots": {Op.NeedsSnapshots, []Op{OpSnapshot, OpDeleteSnapshot, OpRollback}},
		"may_answer_null": {Op.MayAnswerNull, []Op{OpConfig, OpResize, OpCloudInit, OpPool, OpHAAdd, OpHASet, OpHARemove, OpTemplate, OpFirewall, OpObjectAdd, OpObjectSet, OpObjectRemove}},
		"no_task_of_a_vm": {
			func(op Op) bool { return len(Call{Op: op, Kind: guest.VirtualMachine}.TaskTypes()) == 0 },
			[]Op{OpCloudInit, OpPool, OpHAAdd, OpHASet, OpHARemove, OpFirewall, OpObjectAdd, OpObjectSet, OpObjectRemove},
		},
		"no_task_of_a_container": {
			func(op Op) bool { return len(Call{Op: op, Kind: guest.Container}.TaskTypes()) == 0 },
			[]Op{OpConfig, OpCloudInit, OpPool, OpHAAdd, OpHASet, OpHARemove, OpFirewall, OpReset, OpSuspend, OpResume, OpDownload, OpDeleteFile, OpObjectAdd, OpObjectSet, OpObjectRemove},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []Op
			for _, op := range Ops() {
				if test.is(op) {
					got = append(got, op)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestTaskTypesOfAClone(t *testing.T) {
	for kind, want := range map[guest.Kind]string{guest.VirtualMachine: "qmclone", guest.Container: "vzclone"} {
		if got := (Call{Op: OpCreate, Kind: kind, CloneOf: 9000}).TaskTypes(); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %v, want %s", kind, got, want)
		}
	}
}

// No operation has a name for people that names the model of the agent.
func TestWordsOfOperations(t *testing.T) {
	t.Parallel()
	for op, want := range map[Op]string{
		OpObjectAdd: "create", OpObjectSet: "change", OpObjectRemove: "remove", OpCreate: "create", OpReboot: "reboot",
	} {
		if got := op.Words(); got != want {
			t.Errorf("%s: got %q, want %q", op, got, want)
		}
	}
}
