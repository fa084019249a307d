package encode

import (
	"errors"
	"fmt"
	"maps"
	"net/http"

	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/kinds"
)

// encodeObject returns the exchange of a call about an object that is no guest, as its kind says. Any node can carry out the call.
func encodeObject(call cluster.Call) (*wire.Exchange, map[string]string, error) {
	k, known := kinds.Of(call.Kind)
	if !known {
		return nil, nil, fmt.Errorf("there is no kind %s", call.Kind)
	}
	request, err := k.Encode(call)
	if err != nil {
		return nil, nil, err
	}
	if call.IsAboutItem() && call.Item == "" {
		return encodeItemCall(call, request.Route, request.Path)
	}
	if request.Method == "" {
		return nil, nil, fmt.Errorf("operation %q of %s has no call", string(call.Op), call.Kind)
	}
	if err := checkRequest(request.Params, request.Lists); err != nil {
		return nil, nil, err
	}
	x := &wire.Exchange{Lists: request.Lists}
	if request.Method == http.MethodDelete { // Proxmox rejects a body
		x.To(request.Method, request.Route, request.Path+query(request.Params))
		return x, nil, nil
	}
	x.To(request.Method, request.Route, request.Path)
	return x, request.Params, nil
}

// encodeItemCall returns the exchange of a call about a rule or an entry of an object. Route and list are those of the list that has the item.
func encodeItemCall(call cluster.Call, route, list string) (*wire.Exchange, map[string]string, error) {
	if object := call.Firewall.Object; object != cluster.FirewallRule && object != cluster.FirewallEntry {
		return nil, nil, fmt.Errorf("%q is no item of an object", string(object))
	}
	if err := errors.Join(checkFirewall(call), CheckParams(call.Params)); err != nil {
		return nil, nil, err
	}
	x, params := &wire.Exchange{}, maps.Clone(call.Params)
	if params == nil {
		params = make(map[string]string)
	}
	encodeItem(call, x, params, route, list)
	return x, params, nil
}

// checkRequest checks the parameters of a request, and each item of its arrays like a parameter.
func checkRequest(params map[string]string, lists map[string][]string) error {
	problems := []error{CheckParams(params)}
	for name, items := range lists {
		for _, item := range items {
			problems = append(problems, CheckParams(map[string]string{name: item}))
		}
	}
	return errors.Join(problems...)
}
