// Package prerequisites reads what manifests need of a cluster: nodes, storages, pools, templates, bridges, volumes, CPU models, tags and privileges.
// Package preflight derives from it what is missing; this package only asks the cluster, at the same time where the questions do not depend on each
// other. Its client cannot write.
//
// Find is its only function. The commands plan and config check call it: plan for the guests that it would change, config check for all.
package prerequisites
