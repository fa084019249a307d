// Package preflight says before anything is written what would keep manifests from being carried out: privileges that the token lacks, with
// the commands that grant them, and nodes, storages and templates that are not there. It compares and reads nothing by itself.
package preflight
