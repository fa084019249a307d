// Command pvesim serves a simulated Proxmox VE API, and a control endpoint to inject faults and to inspect the simulator.
//
// The API listens on 127.0.0.1:8006 with TLS and a certificate that is created at start. The control endpoint listens on its own address; it
// has no authentication and no TLS. The command prints both addresses, a token and the certificate's fingerprint, and can write them to files.
//
// main.go starts both servers, and options.go has the flags. The simulator itself is the package internal/pvesim, and internal/pvesim/control is the control
// endpoint.
//
// Start with run in main.go. What the simulator covers, and examples with curl: docs/internals/simulator.md.
package main
