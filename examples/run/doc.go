// Package run contains examples of where the agent runs: a guest of the cluster, Docker Compose, Kubernetes and NixOS. docs/deployment.md describes them. It has no code
// beside its tests, which compare the examples with the program and with its image.
package run
