// Package clusterview compares a cluster with the config of an agent and with manifests, and prints the result. Its client reads the cluster
// and cannot write.
//
// Main types and functions, in order of use:
//
//   - Options hold the config, the manifests, the state of the agent's journal, and where the manifests come from.
//   - Check reads the cluster: each endpoint and the quorum. Package prerequisites reads what the manifests need of it, and package preflight
//     derives from that what is missing; Check adds the files of secrets.
//   - Document is the result: the checks, the privileges that the token does not have, the keys that only root@pam may write, and the
//     pveum commands that would grant the privileges. Something that the token may not see is reported as skipped, not as missing.
//   - Document.WriteText prints it for people. Document is also the field clusterCheck of the JSON result of config check.
//
// The command config check --cluster calls this package. docs/cli.md describes what it checks.
package clusterview
