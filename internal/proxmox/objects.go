package proxmox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kinds"
)

// Objects reads the objects of a kind, as the kind says.
func (r *Reader) Objects(ctx context.Context, name guest.Kind, ids []string) (map[string]cluster.Object, error) {
	k, known := kinds.Of(name)
	if !known {
		return nil, fmt.Errorf("read objects of the kind %s: there is no such kind", name)
	}
	objects, err := k.Read(ctx, r.getPath, ids)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", k.Plural, err)
	}
	byID := make(map[string]cluster.Object, len(objects))
	for _, o := range objects {
		byID[o.ID] = o
	}
	return byID, nil
}

// ObjectUser reads what uses an object, as its kind says.
func (r *Reader) ObjectUser(ctx context.Context, name guest.Kind, id string) (string, error) {
	k, known := kinds.Of(name)
	if !known || k.UsedBy == nil {
		return "", nil
	}
	user, err := k.UsedBy(ctx, r.getPath, id)
	if err != nil {
		return "", fmt.Errorf("read what uses the %s %s: %w", k.Noun, id, err)
	}
	return user, nil
}

// getPath reads a path for a kind.
func (r *Reader) getPath(ctx context.Context, route, path string) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, r, &exchange{route: route, path: path})
}

// encodeObject returns the exchange of a call about an object that is no guest, as its kind says. Any node can carry out the call.
func encodeObject(call cluster.Call) (*exchange, map[string]string, error) {
	k, known := kinds.Of(call.Kind)
	if !known {
		return nil, nil, fmt.Errorf("there is no kind %s", call.Kind)
	}
	request, err := k.Encode(call)
	if err != nil {
		return nil, nil, err
	}
	if call.IsAboutItem() {
		return encodeItemCall(call, request.Route, request.Path)
	}
	if request.Method == "" {
		return nil, nil, fmt.Errorf("operation %q of %s has no call", string(call.Op), call.Kind)
	}
	if err := checkRequest(request.Params, request.Lists); err != nil {
		return nil, nil, err
	}
	x := &exchange{lists: request.Lists}
	if request.Method == http.MethodDelete { // Proxmox rejects a body
		x.to(request.Method, request.Route, request.Path+query(request.Params))
		return x, nil, nil
	}
	x.to(request.Method, request.Route, request.Path)
	return x, request.Params, nil
}

// encodeItemCall returns the exchange of a call about a rule or an entry of an object. Route and list are those of the list that has the item.
func encodeItemCall(call cluster.Call, route, list string) (*exchange, map[string]string, error) {
	if object := call.Firewall.Object; object != cluster.FirewallRule && object != cluster.FirewallEntry {
		return nil, nil, fmt.Errorf("%q is no item of an object", string(object))
	}
	if err := errors.Join(checkFirewall(call), checkParams(call.Params)); err != nil {
		return nil, nil, err
	}
	x, params := &exchange{}, maps.Clone(call.Params)
	if params == nil {
		params = make(map[string]string)
	}
	encodeItem(call, x, params, route, list)
	return x, params, nil
}

// checkRequest checks the parameters of a request, and each item of its arrays like a parameter.
func checkRequest(params map[string]string, lists map[string][]string) error {
	problems := []error{checkParams(params)}
	for name, items := range lists {
		for _, item := range items {
			problems = append(problems, checkParams(map[string]string{name: item}))
		}
	}
	return errors.Join(problems...)
}
