// Command pvesim serves a simulated Proxmox VE API, and a control endpoint to inject faults and to inspect the simulator.
//
// The API listens on 127.0.0.1:8006 with TLS and a certificate that is created at start. The control endpoint listens on its own address; it
// has no authentication and no TLS. The command prints both addresses, a token and the certificate's fingerprint, and can write them to files.
//
// main.go starts both servers, options.go has the flags, and the control_*.go files handle the calls of the control endpoint: faults, edits and
// counters in control.go; nodes, quorum, storages, privileges and announced losses in control_outage.go. The simulator itself is the package
// internal/pvesim.
//
// Start with run in main.go. What the simulator covers, and examples with curl: docs/simulator.md.
package main
