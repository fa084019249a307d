// Package route has the paths of the API of Proxmox VE: the routes, and the names that become part of a path.
//
// A route is a path with its variables named, such as "/nodes/{node}/{kind}/{vmid}/pending". Routes are a closed list, because they are the
// labels of metrics. An Address identifies a guest and has its path. It is checked before its path is used, because a node such as "../access"
// would otherwise lead to another path.
package route
