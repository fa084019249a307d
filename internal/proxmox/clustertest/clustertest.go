package clustertest

import (
	"testing"
	"time"
)

// Run runs the suite. It fails at once, before it changes anything, if a vmid of the range is taken.
func Run(t *testing.T, target Target) {
	if err := target.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if target.LockTimeout == 0 {
		target.LockTimeout = 10 * time.Second
	}
	s := &suite{Target: target, next: target.First}
	for _, entry := range []struct {
		name string
		test func(t *testing.T, s *suite)
	}{
		{"ready", testReady},
		{"absent", testAbsent},
		{"denied", testDenied},
		{"lifecycle", testLifecycle},
		{"iso", testISO},
		{"pending", testPending},
		{"shutdown", testShutdown},
		{"reboot", testReboot},
		{"disks", testDisks},
		{"disk_move", testDiskMove},
		{"network", testNetwork},
		{"cloudinit", testCloudInit},
		{"template", testTemplate},
		{"container", testContainer},
		{"container_volumes", testContainerVolumes},
		{"container_power", testContainerPower},
		{"conflict", testConflict},
		{"locked", testLocked},
		{"protected", testProtected},
		{"warnings", testWarnings},
		{"pool", testPool},
		{"ha", testHA},
		{"snapshot", testSnapshot},
		{"snapshot_container", testSnapshotOfContainer},
		{"backup", testBackup},
		{"migrate", testMigrate},
		{"migrate_container", testMigrateContainer},
	} {
		t.Run(entry.name, func(t *testing.T) { entry.test(t, s) })
	}
}
