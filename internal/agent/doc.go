// Package agent reads the agent's config and connects the packages of a running agent: journal, repository, policy, Proxmox client, engine,
// metrics and status page. The command run, the commands that need the config, and the demo use it.
//
// The usual order of calls:
//
//	config, err := agent.ReadConfig(path)        // parse strictly; the error contains every problem
//	a, err := agent.New(ctx, agent.Options{...}) // open everything that can fail; write nothing to the cluster
//	err = a.Run(ctx)                             // or a.Once
//	err = a.Close()
//
// The files:
//
//   - config.go: Config; the comment of each field is its manual. example.yaml: the same for copying, printed by "config example"
//   - check.go: Config.Check, for "config check"
//   - agent.go: Agent; hooks.go: events of the engine as metrics; stale.go: the limit of /healthz
//   - policy.go: the policy from the config; trust.go: the policy in force, with a trusted root that can change while the agent runs;
//     trust_refresh.go, trust_tuf.go, trust_store.go: newer trusted roots by TUF
//   - secret_dir.go: passwords for guests; secret_key.go: the key of their fingerprints
//   - durable_file.go: files that survive a crash
//
// Secrets are only in files that the config names, never in the config.
package agent
