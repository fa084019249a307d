package proxmox

import (
	"context"
	"fmt"
	"net/http"

	"gitops-agent/internal/proxmox/reply"
)

// readRaw performs a GET and returns the text of the reply, for callers with a decoder of their own.
func (r *Reader) readRaw(ctx context.Context, x *exchange) (string, error) {
	x.method, x.raw = http.MethodGet, true
	if err := r.api.Get(withExchange(ctx, x), x.path, nil); err != nil {
		return "", classify(x, err)
	}
	return x.reply, nil
}

// get performs a GET and lets the library decode its data. A reply without data is an error. The library alone would return the zero value
// for null, and would decode the whole reply as if it were the data where the reply has no field "data".
//
// Source: go-proxmox v0.8.1, Client.handleResponse.
func get[T any](ctx context.Context, r *Reader, x *exchange) (T, error) {
	x.method = http.MethodGet
	var data *T
	err := r.api.Get(withExchange(ctx, x), x.path, &data)
	switch {
	case err != nil:
		err = classify(x, err)
	case data == nil || !reply.HasData(x.reply):
		err = fmt.Errorf("decode reply of %s: %w", x.path, reply.ErrNoData)
	default:
		return *data, nil
	}
	var none T
	return none, err
}

// write sends a request that may change the cluster, and returns its data, empty for null. The path of a DELETE contains the parameters.
func (c *Client) write(ctx context.Context, x *exchange, params map[string]string) (string, error) {
	ctx = withExchange(ctx, x)
	var body any // not a map: for nil the library sends no body, and for a nil map it sends null
	switch {
	case len(x.lists) > 0:
		all := make(map[string]any, len(params)+len(x.lists))
		for name, text := range params {
			all[name] = text
		}
		for name, items := range x.lists {
			all[name] = items
		}
		body = all
	case len(params) > 0:
		body = params
	}
	var data reply.Scalar
	var err error
	switch x.method {
	case http.MethodPost:
		err = c.api.Post(ctx, x.path, body, &data)
	case http.MethodPut:
		err = c.api.Put(ctx, x.path, body, &data)
	case http.MethodDelete:
		err = c.api.Delete(ctx, x.path, &data)
	}
	if err != nil {
		return "", classify(x, err)
	}
	return string(data), nil
}
