// Package cluster defines what the engine needs from a Proxmox VE cluster: the interfaces Reader and Cluster, and the values that pass through
// them. internal/proxmox implements the interfaces; the package itself sends no request.
//
//   - Cluster reads the cluster and carries out a Call. Its errors wrap the Err… values, which decide what the caller does next: plan again,
//     retry later, look at the guest, or wait for a person.
//   - Inventory is one read of the list of guests. It may lag, so it triggers reads and decides nothing. Snapshot is the newest read of every guest.
//   - Op names an operation. One table (operation.go) describes every operation: its tasks, its cost, and how its effect appears.
//   - Task is a task of Proxmox, with a typed outcome. DeniedError is a refusal with the missing privilege.
//
// No code outside internal/proxmox interprets Proxmox's texts. Texts in errors and tasks are for people.
package cluster
