// Command demo demonstrates gitops-agent on one machine: a simulated Proxmox cluster, a Sigstore in memory, a git repository with the
// example manifests, and the real agent. It needs Go and git, and nothing from the network.
//
// It runs four scenarios: a signed commit converges; drift is repaired; a commit without a signature is refused; a guest is destroyed after
// an approval. The result of every scenario is checked on the simulator, not only in the agent's report. With --once the program ends after the last
// scenario. Otherwise everything stays up, and the reader can push commits.
//
// With --ha it shows two agents that share a journal in an etcd of three members (ha.go): one leads, is killed in the middle of its work, and the other one takes
// over. The agents are processes of their own: demo run-agent.
//
// Main types: environment (cluster, Sigstore, repository and agent), scenario (one part with its checks), repository (a bare repository and a
// working copy that pushes to it) and printer. git runs the same program as its signing program: demo sign.
//
// Start with runScenarios in main.go, then read scenarios.go.
package main
