// Package recordings contains recorded replies of Proxmox VE 9.2.11 and its schema of guest configurations, for tests. Only tests import it.
// README.md names the origin of the data and the parts that were left out.
package recordings
