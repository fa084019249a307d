// Package pvesim is a Proxmox VE API server in memory, for testing Proxmox clients.
//
// It keeps state the way Proxmox does: a guest is a config file in text, with a section for pending changes and one per snapshot,
// and its digest is the SHA-1 of that text. Storages own volumes. Work that Proxmox does in a worker process is a task with a
// UPID that takes time, can fail, and can be looked up in the node's task list. A write is checked, normalised, applied or left
// pending as the running state of the guest demands, and refused with Proxmox's own text in the status line.
//
// A Sim is an http.Handler. Transport offers it in process, which also works inside a testing/synctest bubble; Serve offers it
// over TCP with the status lines that Proxmox writes and net/http cannot. Faults are injected per call, calls can be held before
// or after they act, and effects are counted where they happen, so that a test can tell a request from its consequence.
//
// The package shares no parser, no key table and no normaliser with any client, since a shared mistake would hide itself.
// What it covers and what not: docs/simulator.md.
package pvesim
