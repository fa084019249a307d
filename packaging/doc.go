// Package packaging tests the files with which the agent is installed, with the programs that users have (tag integration).
//
//   - build makes the programs, the Debian packages and their checksums.
//   - nfpm.yaml lists what the package contains; deb has its scripts.
//   - systemd/gitops-agent.service is the unit.
//   - tools is the module of the program that makes packages.
package packaging
