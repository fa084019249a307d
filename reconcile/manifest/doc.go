// Package manifest turns YAML files into typed guests, each value knowing its file, line and column.
//
// A file holds any number of documents of four kinds: Cluster (one in the whole source), GuestClass (what guests have in
// common), VirtualMachine and Container. Reading goes through one value a step:
//
//	File -> tree.Node  a tree of positions and text, bounded, without aliases (package tree)
//	node -> node       classes laid under a guest's own spec, left to right (merge.go)
//	node -> spec       typed fields that know whether they were set and where (field.go, vm.go, container.go)
//	spec -> Desired    intents on native Proxmox keys (lowering.go)
//
// A field is one row of a table: its YAML name, the native key behind it, its description and the rule for its values.
// Decoding, lowering, suggestions and the JSON Schema all read that row, so they cannot disagree. What a manifest leaves
// out is not managed. Every problem of every file is reported at once.
//
// The files are read as untrusted text: size, depth and number of values are bounded, and YAML's aliases, merge keys and
// tags are refused (a GuestClass says the same with a name).
package manifest
