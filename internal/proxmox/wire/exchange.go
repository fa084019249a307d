package wire

import (
	"context"
	"net/http"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
)

// Exchange is one request and its reply. It passes through the library in the context: the library passes the context on to the transport,
// and nothing else. The transport needs route and node for limits and metrics, and stores the text of the reply.
type Exchange struct {
	Method string
	Route  string        // label from a closed set: a path with its variables named
	Path   string        // below /api2/json, escaped
	Task   string        // UPID of the task that it reads; "" for every other request
	Node   string        // whose workers the exchange occupies; "" if any node may answer
	About  route.Address // the guest that the reply is about; zero if it is not about one guest

	MaxReply int // bytes; 0 is 32 MiB

	Raw   bool   // the caller decodes reply; the library gets an empty body
	Reply string // of status 200
	Done  bool   // reply is complete

	Lists  map[string][]string // parameters of the body that are arrays
	Alone  bool                // of a read: a failed answer counts without another endpoint that confirms it
	Check  cluster.LastCheck   // runs when nothing is left to wait for; nil always passes
	Public Public              // what errors may repeat, of a call with a secret; nil for every other call
}

type exchangeKey struct{}

// WithExchange returns a context in which the library passes an exchange to the transport.
func WithExchange(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// exchangeOf returns the exchange that a request belongs to. A request without one, such as that of a typed method of the library, gets a new
// exchange.
func exchangeOf(req *http.Request) *Exchange {
	if x, ok := req.Context().Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return &Exchange{Method: req.Method, Route: route.Other, Path: req.URL.Path}
}

// Writes reports whether the exchange may change the cluster.
func (x *Exchange) Writes() bool { return x.Method != http.MethodGet }

// To sets the method and the path of an exchange.
func (x *Exchange) To(method, route, path string) { x.Method, x.Route, x.Path = method, route, path }
