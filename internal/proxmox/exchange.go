package proxmox

import (
	"context"
	"net/http"

	"gitops-agent/reconcile/cluster"
)

// exchange is one request and its reply. It passes through the library in the context: the library passes the context on to the transport,
// and nothing else. The transport needs route and node for limits and metrics, and stores the text of the reply.
type exchange struct {
	method string
	route  string  // label from a closed set: a path with its variables named
	path   string  // below /api2/json, escaped
	task   string  // UPID of the task that it reads; "" for every other request
	node   string  // whose workers the exchange occupies; "" if any node may answer
	about  address // the guest that the reply is about; zero if it is not about one guest

	raw   bool   // the caller decodes reply; the library gets an empty body
	reply string // of status 200
	done  bool   // reply is complete

	lists   map[string][]string // parameters of the body that are arrays
	alone   bool                // of a read: a failed answer counts without another endpoint that confirms it
	check   cluster.LastCheck   // runs when nothing is left to wait for; nil always passes
	secrets []string            // among the parameters; errors must not contain them
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// exchangeOf returns the exchange that a request belongs to. A request without one, such as that of a typed method of the library, gets a new
// exchange.
func exchangeOf(req *http.Request) *exchange {
	if x, ok := req.Context().Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{method: req.Method, route: routeOther, path: req.URL.Path}
}

// writes reports whether the exchange may change the cluster.
func (x *exchange) writes() bool { return x.method != http.MethodGet }
