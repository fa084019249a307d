// Package hostguest finds the guest of the cluster in which the agent itself runs, if there is one. A call that stops that guest would end the agent
// before it could finish its work.
//
// Read collects facts of the machine. Facts.Matches compares them with a reading of a guest, and is pure. It matches only what is certain:
//
//   - a virtual machine by its SMBIOS uuid. Linux lets only root read it, so for another user the addresses of the network interfaces decide;
//   - a container by these addresses.
//
// The addresses count only on a machine that is a virtual machine of QEMU, or a container of LXC: a node of the cluster is neither.
package hostguest
