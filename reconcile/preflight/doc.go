// Package preflight reports, before anything is written, what would prevent manifests from being applied.
//
// MissingPrivileges compares the privileges that guests need with those of the token, and Grants returns the access control entries that add
// them. UnresolvedOnCluster returns nodes, storages, pools and templates that manifests name and the cluster does not show. For names that only
// nodes can list, such as bridges, volumes and CPU models, Lists returns what to ask the nodes, and UnresolvedOnNodes compares their answers.
//
// RestrictedTags returns tags that the agent must set and that the options of the datacenter do not let the token set.
//
// The package compares values and reads nothing itself: the caller asks the cluster. Start reading with granted.go, privileges.go and unresolved.go.
package preflight
