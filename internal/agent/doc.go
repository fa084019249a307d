// Package agent reads the agent's config and connects the packages of a running agent: journal, repository, policy, Proxmox client, engine,
// metrics and status page. The command run, the commands that need the config, and the demo use it.
//
// The usual order of calls:
//
//  1. agent.ReadConfig parses the file strictly; its error contains every problem.
//  2. agent.New opens everything that can fail, and writes nothing to the cluster.
//  3. Run or Once of the Agent keeps the cluster; Close releases what New opened.
//
// The files:
//
//   - config.go: Config; the comment of each field is its manual. example.yaml: the same for copying, printed by "config example"
//   - check.go: Config.Check, for "config check"
//   - agent.go: Agent; hooks.go: events of the engine as metrics; stale.go: the limit of /healthz
//   - evidence.go: where evidence about commits of gitsign's online mode is found
//   - policy.go: the policy from the config; trust.go: the policy in force, with a trusted root that can change while the agent runs;
//     trust_refresh.go, trust_tuf.go, trust_store.go: newer trusted roots by TUF
//   - secret_dir.go: passwords for guests; secret_key.go: the key of their fingerprints
//   - attest.go: where statements of convergence are written, and with which key
//
// Secrets are only in files that the config names, never in the config.
package agent
