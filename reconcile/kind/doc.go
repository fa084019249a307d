// Package kind is the contract of a kind of object that is no guest: a pool, a backup job, a rule. A kind says what its manifests contain, how its objects are
// read, which calls change them, and which privileges that needs. Everything else is the same for every kind: positions and problems of manifests, plan, gate,
// lanes, journal, ownership, report and export.
//
// An object has native keys with texts, as a guest has. Every kind brings its texts into one canonical form, in manifests and in readings, so that equal
// objects have equal texts. One key is the comment: it ends in the marker of an owned object.
//
// Package kinds has the table of all kinds. ADR 30 says why.
package kind
