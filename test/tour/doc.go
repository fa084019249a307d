// Package tour follows the manual on a fresh Debian: it installs the package, runs the service, installs Prometheus' rules, upgrades and removes.
//
// The commands are those of the fenced blocks in docs/quickstart.md, docs/deployment.md, docs/packages.md and docs/operations.md, in their order; the test repeats none of them.
// mmdebstrap makes the root of Debian once for each machine, and systemd-nspawn boots it with systemd as its first process, so the unit runs with every restriction.
// The machine and the test share a network namespace without a way out. In it the names of the manual (pve1.lan, github.com) are the simulator and
// a forge of the test, so nothing is filled in but the anchor.
//
// # What differs from a user's installation
//
//   - Prometheus is part of the fresh Debian, because the namespace has no network: "apt install prometheus" finds it installed.
//   - An authority of the test, which the machine trusts, signs the certificates of github.com and of the nodes, and a Sigstore of the test the commits.
//     So cosign, gitsign and pveum are not run.
//   - After the first convergence the agent polls and reads each second. After the shipped rules were evaluated as they are, Prometheus
//     scrapes each second and evaluates the rules with divided times, as test/observability does. The watchdog has six seconds while it is tested.
//
// # Types, in order of use
//
//   - controlGroup keeps the containers of two tests apart.
//   - page is a page of the manual, or a section.
//   - world is what the agent reaches: nodes and a forge. machine is the Debian.
//   - tour walks through the manual; start with TestTour.
//
// Programs, mounts and namespaces end with the test, whatever ends it.
package tour
