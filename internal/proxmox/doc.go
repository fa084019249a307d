// Package proxmox is the Proxmox VE API as a reconcile.Cluster. It is the only importer of go-proxmox.
//
// go-proxmox builds requests: addresses, the token header, JSON bodies. Everything that decides what an answer means is
// ours, because the library takes a gateway's 596 for a success, reduces errors to a status line and loses keys that it has no
// field for. The seam is one http.RoundTripper (transport.go): it bounds and times each exchange, limits how much of a node is in use, turns
// every status but 200 into an *APIError, and keeps the reply's bytes for this package's own decoders. Of the
// library only the raw Get, Post, Put and Delete are used; never its typed guests, its task waiter or its retries.
//
// Three rules hold throughout:
//
//   - A reply that cannot be read in full is an error, never an empty guest.
//   - A write is sent once. Whether it took effect is known only from Proxmox's own answer; anything short of that is
//     reconcile.ErrOutcomeUnknown, unless no connection was made.
//   - A Reader cannot write: it has no method for it, and its transport refuses every verb but GET.
//
// Parameters travel as JSON with every value a string. Proxmox takes strings for numbers and booleans in JSON as it does in
// forms, and a JSON string needs no second round of percent-encoding, which sshkeys would need in a form.
//
// Source: PVE API 8.4 and 9.2; pve-http-server, APIServer/AnyEvent.pm for the shape of replies.
package proxmox
