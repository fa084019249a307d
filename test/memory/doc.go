// Package memory sends hostile replies of a git server to the real agent, and measures the most memory and the processor time that the agent takes.
//
// The agent runs `verify --repo` of a remote on this machine, for which it starts the program git. The first git in its PATH is the test binary, which answers as the
// shape says. The agent is built with lowered limits (package gooverlay), so that small inputs reach them; with -memory-full the limits are those of a release, and the
// inputs have the size that reaches them. Nothing of the inputs is stored.
//
// Start with memory_test.go; shapes_test.go has what is sent. ../README.md describes how to run the tests.
package memory
