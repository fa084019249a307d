// Package order reads the one-shot operations that signed commits request: "Gitops-Run: <operation> <kind>/<name> [key=value...]".
//
//   - Parse (parse.go) reads the text against the table of operations (operation.go). Each refusal names what is allowed.
//   - Check (check.go) compares a request with the accepted manifests and the guests that the agent owns, once, when its commit is accepted.
//   - Open (open.go) lists the orders of the journal that are not final, by guest. Package plan makes steps of them.
//
// The package is pure. It decides neither who may sign an order (package gate) nor whether the guest allows it now (package plan).
package order
