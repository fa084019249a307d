// Package service tells the service manager that started the agent how the agent is: that it is ready, that it reloads its config or stops, that its
// engine still works, and what it does. The protocol is that of systemd (sd_notify); without a service manager nothing is sent.
//
//   - Manager is the service manager. Run it beside the agent.
package service
