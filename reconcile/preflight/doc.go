// Package preflight says before anything is written what would keep manifests from being carried out: privileges that the token lacks, with
// the commands that grant them, and what is not there: nodes, storages, pools, templates, and on the nodes themselves bridges, volumes and
// processors. It compares and reads nothing by itself.
package preflight
