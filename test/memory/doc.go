// Package memory sends hostile replies to the real agent, and measures the most memory and the processor time that each command takes.
//
// A stranger is everyone whose replies or requests the agent reads without a signature: servers of git over a pipe, https and ssh, Proxmox, other agents, the outlets
// (forge, chat, mail, collector, transparency log, mirror of TUF), and clients of the status page.
//
// For a remote on this machine the agent starts the program git. The first git in its PATH is the test binary, which answers as the shape says. Proxmox and the
// status page of an agent are an HTTP server of the test. The agent is built with lowered limits (package gooverlay), so that small inputs reach them; with
// -memory-full the limits are those of a release, and the inputs have the size that reaches them. Nothing of the inputs is stored.
//
// Start with memory_test.go; shapes_test.go has what a git server sends, commands_test.go what the other servers send. ../README.md describes how to run the tests.
package memory
