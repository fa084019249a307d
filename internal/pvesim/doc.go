// Package pvesim is a Proxmox VE API server in memory, for tests of Proxmox clients.
//
// The simulator stores state in the same form as Proxmox. A guest is the text of its config file, with a section for pending changes and
// one per snapshot; the digest is the SHA-1 of that text. Storages own volumes. Work that Proxmox does in a worker process is a task with a
// UPID: it takes time, can fail, and is in the task list of its node. A write is checked, normalized, and then applied or left pending,
// depending on the run state of the guest. A rejected call gets Proxmox's own text in the status line.
//
// Main types, in the order in which a reader meets them:
//   - Options, Storage, Token, Guest (options.go, seed.go): the cluster at the start.
//   - Sim (sim.go): the cluster. It is an http.Handler; Transport answers in process, also inside a testing/synctest bubble, and Serve
//     answers over TCP with Proxmox's status lines, which net/http cannot write.
//   - call and route (request.go, routes.go): one API call and the table of calls. exchange.go runs a call from request to response; the
//     *_routes.go and *_api.go files list the calls with their parameters, privileges and handlers.
//   - rule and schema, propertyString (schema.go, property_string.go): the checks of parameters. format_*.go and schema_*.go are the tables.
//   - guest, config and drive (guest.go, configtext, drive.go): a guest, its config file and one of its disks.
//   - update (qemu_update.go, lxc_update.go): a change of a config, from the call to the pending section (qemu_stage.go) and to the current
//     section (hotplug.go, qemu_apply.go, lxc_apply.go).
//   - task (tasks.go): one worker, with the lock of its guest (lock.go).
//   - Volume and storage (volume.go, volume_names.go, allocate.go): the volumes and their names.
//   - Fault (fault.go) and HeldCall (hold.go): what a test breaks. host_actions.go and outage.go: what happens without a call.
//   - Counters and Violations (counters.go, guard.go): what a test checks. Effects are counted where they happen, so a test can distinguish
//     a request from its effect.
//
// "The state is locked" in a comment means that Sim.mu is held while the function runs.
//
// Start with sim_test.go, which creates, changes and destroys a VM, and then with exchange.go.
//
// The package shares no parser, key table or normalizer with a client, because a shared mistake would stay hidden. It imports no other
// package of this module except its own part configtext. What it covers and what it does not cover: docs/internals/simulator.md.
package pvesim
