// Package audit verifies commits and tags outside of the agent's loop: for people, for CI and for tools that collect findings. It reads a
// repository and a policy, and it prints verdicts; it decides nothing for the agent.
//
// Main types and functions, in order of use:
//
//   - Options name the Repository (a directory, a remote to fetch, or the repository that the agent fetched), the Trust (the signers of the
//     config, or a trusted root and signers from flags), and the revision: a commit, a tag, or a range A..B along first parents.
//   - Open reads the trust settings and opens the repository. A remote is fetched into a temporary directory, which Close removes.
//   - Audit.Run verifies each object by itself, on all processors, and looks for seals that cover refused commits.
//   - Result.WriteText prints a table, totals by signer and, on request, an explanation with commands for each refusal. Result.WriteSARIF
//     prints a SARIF 2.1.0 log, Result.WriteHTML a page, Result.WriteVSA a verification summary. Result.Document is the JSON result. Result.Err
//     returns the error with the exit status.
//   - Audit.RunWho finds who signed, without a policy, and returns a Who.
//
// The files: auditor.go walks and verifies, side_branches.go finds what merges bring in, rule.go lists the rules in the order in which package
// verify checks them, remedy.go contains the commands that correct a refusal, document.go, html.go, sarif.go and vsa.go define the output.
//
// The command verify calls this package. The place of a commit in the agent's history, its age and its target are not checked here; the agent checks
// them before it accepts a revision.
package audit
