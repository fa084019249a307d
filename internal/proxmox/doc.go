// Package proxmox implements cluster.Cluster on the API of Proxmox VE. It is the only package that imports go-proxmox. It and the
// packages below it are the only ones that interpret texts of Proxmox: other packages get typed errors and typed task outcomes.
//
// The library (go-proxmox v0.8.1) builds the requests, with addresses, the token header and JSON bodies, and decodes every reply outside the
// sweep over all guests. The library has traps, which were measured with stub servers. This package and those below it work around them:
//
//   - A wire.Transport is the http.RoundTripper below the library. The library accepts status 202, 404, 429 and 502 to 599 as success,
//     and reduces the other failures to a status line. The transport returns a typed *wire.APIError for every status except 200. It also limits
//     the time of each exchange, the size of a reply and the exchanges in flight for each node.
//   - get, in send.go, rejects replies without data, which the library decodes as the zero value.
//   - The typed guests, the task waiter and the retries of the library are not used. The typed guests lose keys that have no field, and a
//     container whose cpulimit is a string cannot be read. The waiter treats "WARNINGS: 2" as a failure and ignores the end of the context
//     while it sleeps. A retry sends a POST again: a lost reply to one clone call made three clones.
//
// Reads of one guest and of the list of guests are decoded by a reply.Cursor and not by the library. A sweep decodes thousands of replies; the
// library decodes each of them twice.
//
// Three rules hold in the whole package:
//
//   - A reply that cannot be read completely is an error, never an empty guest or a shorter list.
//   - A write is sent once. Only Proxmox's own answer shows whether the write took effect. Every other end of a write is
//     cluster.ErrOutcomeUnknown, unless no connection was made, or no TLS: the write is then sent to the next endpoint.
//   - A Reader cannot write: it has no method for writes, and its transport rejects every method except GET.
//
// Parameters are sent as JSON, and every value is a string. Proxmox accepts strings for numbers and booleans in JSON as in forms. A JSON
// string needs no second percent-encoding, which sshkeys would need in a form.
//
// A call passes through these files and packages, from top to bottom:
//
//	call.go, inventory.go, observe.go, …   one method of cluster.Cluster each
//	encode                                 Call to path and parameters
//	send.go                                one exchange through the library
//	wire                                   limits, connections, several endpoints
//	meaning                                failed reply to error, UPID to task
//	reply                                  reply to values
//
// Package route has the paths that all of them use.
//
// Source: PVE API 8.4 and 9.2; pve-http-server, APIServer/AnyEvent.pm for the format of replies.
package proxmox
