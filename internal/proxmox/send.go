package proxmox

import (
	"context"
	"fmt"
	"net/http"

	"gitops-agent/internal/proxmox/meaning"
	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/wire"
)

// readRaw performs a GET and returns the text of the reply, for callers with a decoder of their own.
func (r *Reader) readRaw(ctx context.Context, x *wire.Exchange) (string, error) {
	x.Method, x.Raw = http.MethodGet, true
	if err := r.api.Get(wire.WithExchange(ctx, x), x.Path, nil); err != nil {
		return "", meaning.Of(x, err)
	}
	return x.Reply, nil
}

// get performs a GET and lets the library decode its data. A reply without data is an error. The library alone would return the zero value
// for null, and would decode the whole reply as if it were the data where the reply has no field "data".
//
// Source: go-proxmox v0.8.1, Client.handleResponse.
func get[T any](ctx context.Context, r *Reader, x *wire.Exchange) (T, error) {
	x.Method = http.MethodGet
	var data *T
	err := r.api.Get(wire.WithExchange(ctx, x), x.Path, &data)
	switch {
	case err != nil:
		err = meaning.Of(x, err)
	case data == nil || !reply.HasData(x.Reply):
		err = fmt.Errorf("decode reply of %s: %w", x.Path, reply.ErrNoData)
	default:
		return *data, nil
	}
	var none T
	return none, err
}

// write sends a request that may change the cluster, and returns its data, empty for null. The path of a DELETE contains the parameters.
func (c *Client) write(ctx context.Context, x *wire.Exchange, params map[string]string) (string, error) {
	ctx = wire.WithExchange(ctx, x)
	var body any // not a map: for nil the library sends no body, and for a nil map it sends null
	switch {
	case len(x.Lists) > 0:
		all := make(map[string]any, len(params)+len(x.Lists))
		for name, text := range params {
			all[name] = text
		}
		for name, items := range x.Lists {
			all[name] = items
		}
		body = all
	case len(params) > 0:
		body = params
	}
	var data reply.Scalar
	var err error
	switch x.Method {
	case http.MethodPost:
		err = c.api.Post(ctx, x.Path, body, &data)
	case http.MethodPut:
		err = c.api.Put(ctx, x.Path, body, &data)
	case http.MethodDelete:
		err = c.api.Delete(ctx, x.Path, &data)
	}
	if err != nil {
		return "", meaning.Of(x, err)
	}
	return string(data), nil
}
