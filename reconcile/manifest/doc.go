// Package manifest turns YAML files into typed guests. Each value has its file, line and column.
//
// A file contains any number of documents: Cluster (one in the whole source), GuestClass (what guests have in common), VirtualMachine, Container,
// GuestSet (many guests) and Image. Parse reads them in steps:
//
//	File -> tree.Node       values with positions, within limits, without aliases (package tree)
//	GuestSet -> document    each row becomes the document of a guest (guest_set.go, member.go, numbered.go)
//	tree.Node -> tree.Node  classes merged under a guest's own spec, left to right (merge.go, class.go)
//	tree.Node -> spec       typed fields that record whether and where they were set (field.go, common.go, machine.go, container.go)
//	spec -> guest.Desired   intents for native Proxmox keys (lowering.go)
//
// A field is one row of a table: its YAML name, its native key, its description and the codec of its values. Decoding, lowering, hints and the JSON
// Schema all use this row, so they always agree. What a manifest leaves out is not managed. Parse reports every problem of every file at once.
//
// The main types, in the order of their use:
//
//	File, Parse -> Set     the source, and the cluster and guests that it describes (parse.go, set.go)
//	Problem, Problems      what is wrong, with positions (problem.go)
//	Set.Lower              guest.Desired for each guest, with assigned vmids
//	Guest.Render, Values   a guest with everything that it inherits (render.go, values.go)
//	Adopt -> Adopted       the manifest of a live guest: lowering in the other direction (adopt.go)
//	Schema                 the JSON Schema for editors (schema.go)
//
// The words of enumerations and the numbers of slots come from package guest.
//
// To add a field for a native key, add a row to the fields method of its object, such as machine, disk or network. The row decodes, lowers
// and describes the value, and raises it (the inverse of lowering, for adopt). Then run the tests with -update, which rewrites the schema.
// Start reading with field.go, machine.go and lowering.go.
//
// The files are untrusted text: package tree limits their size, depth and number of values, and refuses aliases, merge keys and tags. A GuestClass
// replaces merge keys.
package manifest
