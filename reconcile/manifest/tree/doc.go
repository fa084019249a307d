// Package tree reads the YAML of manifests into trees of values. Each value has its position in the file.
//
// The only function for reading is Read. It returns one Node per document and the list of problems. Start with node.go (the values that
// callers use) and read.go (documents), then build.go (the YAML that is refused), problem.go (the limits) and syntax.go (positions of syntax
// errors), and invisible.go (characters that people do not see). Encode writes what Read reads back.
//
// The files are untrusted text. Read limits the size of a file, and the number and depth of the values of a document. It refuses aliases,
// anchors, merge keys and tags: an alias can repeat a large value thousands of times, and a tag changes the meaning of a text.
//
// The package imports only the YAML library and the standard library. It does not know the fields of manifests.
package tree
