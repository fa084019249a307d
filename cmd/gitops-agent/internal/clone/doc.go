// Package clone knows what a person's clone of the repository says about signing: gitops-agent init --repository writes it, and gitops-agent verify reads it
// where no config of an agent is. All of it is in the clone's own settings and git directory, which no fetch or checkout changes.
package clone
