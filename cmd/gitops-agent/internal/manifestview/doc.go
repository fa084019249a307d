// Package manifestview prints manifests: the problems of a set of manifests, and one guest with all inherited values. Its input is a
// parsed manifest.Set; it reads no files, no repository and no cluster.
//
// Main types and functions:
//
//   - NewValidation returns a Validation: whether the agent would accept a set of manifests, with every problem and warning, its position and
//     its remedy. Validation.WriteText prints a line for each problem and a summary.
//   - NewRendering returns a Rendering of one guest: its own spec over the classes that it names, over those that select it, over the defaults of
//     the Cluster. Rendering.WriteText prints one manifest that parses to the same guest.
//
// A Validation and a Rendering are also the JSON results of their commands. As text, everything from manifests goes through term.Printable before
// it is printed.
//
// The files: validation.go and rendering.go, one per command. The commands validate and render call them; package subject reads the manifests.
package manifestview
