// Package status serves what the agent knows about itself: a page for people, /status.json for programs, /healthz and
// /readyz for whoever supervises the process, /metrics for Prometheus, and /webhook for a forge that wants to say "look now".
//
// Everything but the webhook only reads, needs no password and shows no secret: keep the listener on loopback or behind a
// proxy that asks who is there. The webhook asks for a token and carries no content; the most that it can do is to make the agent
// poll sooner than it would.
//
// The page works without scripts and without anything from elsewhere, and its Content-Security-Policy says so. Text from the
// repository, the cluster and signers goes through html/template alone.
package status
