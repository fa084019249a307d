// Package selection chooses, sorts and groups the guests of a report. The status page and gitops-agent status share it, so that a query parameter of the
// page and a flag of the command have one name and one meaning.
//
//   - Parse reads a Selection from its parameters and reports every one that is wrong; Parameters describes them.
//   - Selection.Apply returns the selected guests in groups, each in order. The zero Selection selects all: guests that need attention first.
//   - NeedsAttention decides which guests those are.
//
// The package is pure.
package selection
