// Package wire carries exchanges between the library that builds requests and the endpoints of a cluster. It knows no call of the API.
//
// A Transport is the http.RoundTripper below the library. It limits the time of each exchange, the size of a reply and the exchanges in flight for
// each node, runs the last check of a call when nothing is left to wait for, and returns a typed error for every status except 200. An Exchange
// passes through the library in the context of its request.
//
// A read may be sent to several endpoints, and judge.go decides which reply counts: a failed answer only counts if a second endpoint confirms it.
// A write is sent once. It goes to the next endpoint only if it certainly did not leave this client.
//
//	exchange.go                       one request and its reply
//	transport.go, slots.go            limits, the last check, writes
//	network.go, trust.go              connections, and which servers are trusted
//	read.go, judge.go                 reads from several endpoints: which reply counts
//	endpoints.go, health.go, clock.go which endpoint is asked first, and what is known about each
//	probe.go                          when an endpoint that is down comes up again
//	api_error.go                      a reply whose status is not 200
//
// The tests of failover are in package proxmox: they use calls of the API.
package wire
