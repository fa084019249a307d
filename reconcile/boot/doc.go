// Package boot decides which values of a guest are in effect that Proxmox does not list as pending: what cloud-init reads when the system boots, and what a device
// or a container takes over at its start (guest.Unlisted). Proxmox writes them at once, and its own list of values that the cloud-init drive lacks leaves out most
// changes. So the agent keeps evidence of its own, one journal.Applied for each guest.
//
//   - Waiting is the decision: what is written and not in effect, or not known to be. Plan, report and rebootPolicy read it and nothing else.
//   - Baseline makes the first record of a guest: what it has is in effect, unless Proxmox's list says otherwise (WithList).
//   - Follow brings the record up to date with a reading, and with the causes of the processes since the one of the record.
//   - Explain finds these causes in the tasks of a guest, WithSnapshots the snapshots of its rollbacks.
//
// A value that was in effect once stays so until another one is. A changed value comes into effect with a boot, which is not the same as a new process: a live
// migration, a resumption from disk and a rollback with memory start a process, and the system in it boots nothing. Every new process of a container is a
// boot, and so is every process that a step of the agent started. What is not known is never taken for in effect, and never for waiting.
//
// The package is pure. The linter denies it the clock, the network and files. Start reading at Waiting.
package boot
