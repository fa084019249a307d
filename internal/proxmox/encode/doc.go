// Package encode turns a cluster.Call into an exchange: method, route, path and parameters. It is pure and sends nothing.
//
// Call checks a call before it encodes it. A call is rejected if Proxmox would store or read a parameter in another way than sent, if a name would
// lead to another path, or if an operation has a parameter that it must not have. An error names parameters and never quotes values, which may be
// secrets.
//
// Every operation of package cluster has one case in call.go. Objects that are no guests are encoded by their kind.
//
// Source: PVE API, the calls that each function names.
package encode
