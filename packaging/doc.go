// Package packaging tests the files with which the agent is installed: systemd/gitops-agent.service is its unit.
package packaging
