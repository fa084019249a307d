// Package recordings holds what Proxmox VE 9.2.11 was recorded to answer, and its schema of guest configurations, for tests. Only tests
// import it. README.md names the origin of the data and what was left out.
package recordings
