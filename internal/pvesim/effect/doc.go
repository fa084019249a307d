// Package effect computes what the configuration of a cluster means, from the texts that Proxmox's API shows: which restore points of a guest are kept, and which packets pass. Tests compare
// it before and after a change. It shares no code with the agent, which compares settings.
package effect
