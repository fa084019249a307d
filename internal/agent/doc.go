// Package agent wires the parts into one running agent: config file, journal, source, policy, Proxmox client, engine, metrics and
// status page. The run command and the demo use the same.
package agent
