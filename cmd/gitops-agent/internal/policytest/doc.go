// Package policytest runs tables of cases against policies, and prints the results as text and JSON.
//
//   - Read parses a table: the files with the policies, and cases with guests as manifests, a step, signers, a time, and the findings that are wanted.
//   - Table.Run judges each case as the gate of the agent does, and returns a Result.
//   - Result.WriteText prints it; as JSON it is the output of `gitops-agent policy test -o json`.
//
// It reads no cluster and no journal.
package policytest
