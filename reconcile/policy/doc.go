// Package policy compiles and evaluates policies: rules in CEL that hold steps.
//
// In the order of use:
//
//   - Rule (rule.go) is a policy as its file states it.
//   - Compile (compile.go) checks rules and returns a Set. A problem names the file, the line and the column.
//   - A rule of the repository has a Reach (reach.go): where its folder and the scopes of its signers let it apply. CompileRepository compiles such rules.
//   - NewGuest and Observed (view.go) return a guest as expressions see it: the live guest with what the manifest wants of it, or the live guest alone.
//     Secrets are not part of it.
//   - Set.Guest and Set.Step (evaluate.go) return the findings: which policies deny, require approvals, or warn.
//
// Invariants:
//
//   - The same input gives the same findings. Expressions see no clock: the time is an argument. Labels are visited in the order of their names.
//   - Every evaluation has a bounded cost. An expression that fails, or that costs too much, denies.
//   - A Set may be used by several goroutines. It changes only in what it remembers (memo.go), which changes no finding.
//
// The types that expressions see are tables (fields_guest.go, fields_step.go), from which the checker of CEL and docs/policy-fields.md take the names.
// Why policies hold steps and refuse no revision: docs/adr/0035.
package policy
