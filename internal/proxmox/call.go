package proxmox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
)

// Do sends one call, once, with the call's own parameters and no others. It returns the UPID of the task that Proxmox began,
// or the empty string where it answered synchronously: a container's config, and a virtual machine's if it was quick.
//
// The config of a virtual machine goes by POST, which forks before it works. By PUT, a slow disk or a hotplug would outlast the
// 30 seconds after which Proxmox's proxy gives up on a reply. Containers have no such call.
//
// Source: PVE API, POST /nodes/{node}/{kind}, POST …/clone, POST or PUT …/config, PUT …/resize, POST …/status/*, DELETE.
func (c *Client) Do(ctx context.Context, call reconcile.Call) (string, error) {
	upid, err := c.do(ctx, call)
	if err != nil {
		return "", fmt.Errorf("%s %s/%d on %s: %w", call.Op, call.Kind.API(), call.VMID, call.Node, err)
	}
	return upid, nil
}

func (c *Client) do(ctx context.Context, call reconcile.Call) (string, error) {
	x, params, err := encode(call)
	if err != nil {
		return "", err
	}
	data, err := c.write(ctx, x, params)
	if err != nil {
		return "", err
	}
	if data == "" && (call.Op == reconcile.OpConfig || call.Op == reconcile.OpResize) {
		return "", nil
	}
	if _, err := parseUPID(data); err != nil {
		return "", fmt.Errorf("%w: reply names no task: %w", reconcile.ErrOutcomeUnknown, err)
	}
	return data, nil
}

// encode turns a call into an exchange and the parameters of its body; nil is no body.
func encode(call reconcile.Call) (*exchange, map[string]string, error) {
	about := address{kind: call.Kind, node: call.Node, vmid: call.VMID}
	if err := errors.Join(about.check(), checkCall(call), checkParams(call.Params)); err != nil {
		return nil, nil, err
	}
	x := &exchange{node: call.Node, about: about}
	params := maps.Clone(call.Params)
	if params == nil {
		params = make(map[string]string)
	}
	switch call.Op {
	case reconcile.OpCreate:
		return x, params, encodeCreate(call, x, params)
	case reconcile.OpConfig:
		x.method, x.route, x.path = configMethod(call.Kind), routeConfig, about.path()+"/config"
		guard(call, params)
		if len(call.Delete) > 0 {
			params["delete"] = strings.Join(call.Delete, ",")
		}
	case reconcile.OpResize:
		x.method, x.route, x.path = http.MethodPut, routeResize, about.path()+"/resize"
		guard(call, params)
	case reconcile.OpStart:
		x.method, x.route, x.path = http.MethodPost, routeStart, about.path()+"/status/start"
	case reconcile.OpShutdown:
		x.method, x.route, x.path = http.MethodPost, routeShutdown, about.path()+"/status/shutdown"
	case reconcile.OpStop:
		x.method, x.route, x.path = http.MethodPost, routeStop, about.path()+"/status/stop"
	case reconcile.OpDestroy:
		x.method, x.route, x.path = http.MethodDelete, routeGuest, about.path()+query(params) // a body would be refused
	default:
		return nil, nil, fmt.Errorf("operation %q has no call", string(call.Op))
	}
	return x, params, nil
}

// encodeCreate fills in the new guest's vmid, which create and clone name differently.
func encodeCreate(call reconcile.Call, x *exchange, params map[string]string) error {
	list := address{kind: call.Kind, node: call.Node, vmid: call.CloneOf}
	x.method, x.route, x.path = http.MethodPost, routeGuests, fmt.Sprintf("/nodes/%s/%s", call.Node, call.Kind.API())
	x.about = address{} // a missing configuration is not this guest's: it does not exist yet
	name := "vmid"
	if call.CloneOf != 0 {
		if err := list.check(); err != nil {
			return fmt.Errorf("template: %w", err)
		}
		x.route, x.path, name = routeClone, list.path()+"/clone", "newid"
	}
	id := strconv.Itoa(call.VMID)
	if given, ok := params[name]; ok && given != id {
		return fmt.Errorf("%s is %q, want %s", name, given, id)
	}
	params[name] = id
	return nil
}

func configMethod(kind guest.Kind) string {
	if kind == guest.Container {
		return http.MethodPut
	}
	return http.MethodPost
}

// guard adds the digest, which makes Proxmox refuse the write if the guest's configuration is no longer the one that was read.
func guard(call reconcile.Call, params map[string]string) {
	if call.Digest != "" {
		params["digest"] = call.Digest
	}
}

func query(params map[string]string) string {
	if len(params) == 0 {
		return ""
	}
	values := make(url.Values, len(params))
	for key, value := range params {
		values.Set(key, value)
	}
	return "?" + values.Encode()
}

// checkCall refuses parameters that a Call has a field for, and those that widen a call's effect: force destroys the volume
// of a detached disk, skiplock ignores a running backup.
func checkCall(call reconcile.Call) error {
	var problems []error
	for _, key := range []string{"digest", "delete", "force", "skiplock"} {
		if _, ok := call.Params[key]; ok {
			problems = append(problems, fmt.Errorf("parameter %s is not allowed here", key))
		}
	}
	switch {
	case call.Op == reconcile.OpConfig && len(call.Params)+len(call.Delete) == 0:
		problems = append(problems, errors.New("nothing to set or delete"))
	case call.Op != reconcile.OpConfig && len(call.Delete) > 0:
		problems = append(problems, errors.New("keys to delete go with a config call"))
	}
	for _, key := range call.Delete {
		if !paramName.MatchString(key) {
			problems = append(problems, fmt.Errorf("delete: %q is not a parameter name", key))
		}
	}
	return errors.Join(problems...)
}

// write sends a request that may change the cluster and returns its data, empty for null.
func (c *Client) write(ctx context.Context, x *exchange, params map[string]string) (string, error) {
	var err error
	x.secrets = secretsIn(params)
	ctx = withExchange(ctx, x)
	var body any // the library sends nothing for nil, and would send a typed nil as null
	if len(params) > 0 {
		body = params
	}
	switch x.method {
	case http.MethodPost:
		err = c.api.Post(ctx, x.path, body, nil)
	case http.MethodPut:
		err = c.api.Put(ctx, x.path, body, nil)
	case http.MethodDelete:
		err = c.api.Delete(ctx, x.path, nil)
	}
	if err != nil {
		return "", classify(x, err)
	}
	var reply struct {
		Data scalar `json:"data"`
	}
	if err := json.Unmarshal(x.reply, &reply); err != nil {
		return "", fmt.Errorf("%w: decode reply of %s: %w", reconcile.ErrOutcomeUnknown, x.path, err)
	}
	return string(reply.Data), nil
}
