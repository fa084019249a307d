package pvesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxBody is the largest request body that the API reads, in bytes.
const maxBody = 512 << 10

// call is one API call in flight.
type call struct {
	sim     *Sim
	host    string // host:port that the client has sent the call to
	via     string // the node that answers
	method  string
	path    string // below /api2/json, decoded
	route   *route
	caller  *credential
	quorate bool   // its node had a quorum when it began
	fault   *Fault // applied by the handler or by the task that it starts

	vars   values // from the path: node, vmid, ...
	params values
	arrays map[string][]string // the values of parameters that were sent more than once or as a JSON array
}

func (c *call) node() string { return c.vars["node"] }
func (c *call) vmid() int    { return atoi(c.vars["vmid"]) }

// flag returns a boolean parameter that has been checked.
func (c *call) flag(name string) bool { return c.params[name] == "1" }

// vm returns the VM of the path. The state is locked.
func (c *call) vm() (*guest, error) { return c.sim.find(QEMU, c.node(), c.vmid()) }

// ct returns the container of the path. The state is locked.
func (c *call) ct() (*guest, error) { return c.sim.find(LXC, c.node(), c.vmid()) }

// require returns an error with status 403 unless the caller has every privilege on the path. Privileges on a pool count for a guest that the
// call creates in the pool. The state is locked.
func (c *call) require(path string, privileges ...string) error {
	for _, p := range privileges {
		if !c.allowed(path, p) {
			return forbidden(path + ", " + p)
		}
	}
	return nil
}

// requireAny returns an error with status 403 unless the caller has one of the privileges. The state is locked.
func (c *call) requireAny(path string, privileges ...string) error {
	for _, p := range privileges {
		if c.allowed(path, p) {
			return nil
		}
	}
	return forbidden(path + ", " + strings.Join(privileges, "|"))
}

func (c *call) allowed(path, privilege string) bool {
	if c.sim.allows(c.caller, path, privilege) {
		return true
	}
	pool := c.params["pool"]
	return pool != "" && path == "/vms/"+itoa(c.newGuestID()) && c.sim.allows(c.caller, "/pool/"+pool, privilege)
}

// newGuestID returns the vmid of the guest that the call creates, or 0.
func (c *call) newGuestID() int {
	if c.method != http.MethodPost {
		return 0
	}
	if id := c.params["newid"]; id != "" {
		return atoi(id)
	}
	return atoi(c.params["vmid"])
}

// isRoot reports whether the caller is the user root@pam itself. No token is, not even a token of root@pam.
func (c *call) isRoot() bool { return c.caller.ID == "root@pam" }

// readParams reads the parameters of query and body. The query takes precedence.
func (c *call) readParams(r *http.Request, body []byte) error {
	c.params, c.arrays = values{}, map[string][]string{}
	if len(body) > 0 {
		if err := c.readBody(r, body); err != nil {
			return err
		}
	}
	if r.URL.RawQuery == "" {
		return nil
	}
	return c.addForm(r.URL.RawQuery)
}

func (c *call) readBody(r *http.Request, body []byte) error {
	if r.Method == http.MethodDelete || r.Method == http.MethodGet {
		return &apiError{status: http.StatusNotImplemented, message: fmt.Sprintf("Unexpected content for method '%s'", r.Method), plainText: true}
	}
	header := r.Header.Get("Content-Type")
	typ, _, err := mime.ParseMediaType(header)
	switch {
	case err == nil && typ == "application/json":
		return c.addJSON(body)
	case header == "" || err == nil && typ == "application/x-www-form-urlencoded":
		return c.addForm(string(body))
	}
	return &apiError{status: http.StatusVariantAlsoNegotiates, message: fmt.Sprintf("upload 'Content-Type '%s' not implemented", header), plainText: true}
}

func (c *call) addForm(form string) error {
	q, err := url.ParseQuery(form)
	if err != nil {
		return apiErrorf("unable to parse parameters: %v", err)
	}
	for k, vs := range q {
		c.params[k] = strings.Join(vs, ",")
		if len(vs) > 1 {
			c.arrays[k] = vs
		}
	}
	return nil
}

func (c *call) addJSON(body []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return &apiError{status: http.StatusInternalServerError, message: jsonParseError(body), plainText: true}
	}
	for k, raw := range fields {
		v, items, err := jsonParam(k, raw)
		if err != nil {
			return err
		}
		c.params[k] = v
		if items != nil {
			c.arrays[k] = items
		}
	}
	return nil
}

// jsonParseError returns the error text of the real server's JSON parser for an object that begins without a quoted key.
func jsonParseError(body []byte) string {
	rest := bytes.TrimPrefix(bytes.TrimSpace(body), []byte("{"))
	rest = bytes.TrimSuffix(rest, []byte("\n"))
	return fmt.Sprintf("'\"' expected, at character offset %d (before \"%s\") at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 934.\n",
		len(body)-len(rest), rest)
}

// jsonParam returns a JSON value as the text that a form would contain.
func jsonParam(key string, raw json.RawMessage) (text string, list []string, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case string(raw) == "null":
		return "", nil, apiErrorf("unable to parse value of '%s' - got undefined value", key)
	case string(raw) == "true":
		return "1", nil, nil
	case string(raw) == "false":
		return "0", nil, nil
	case raw[0] == '"':
		err = json.Unmarshal(raw, &text)
		return text, nil, err
	case raw[0] == '[':
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return "", nil, apiErrorf("unable to parse value of '%s'", key)
		}
		parts := make([]string, 0, len(items))
		for _, it := range items {
			t, _, err := jsonParam(key, it)
			if err != nil {
				return "", nil, err
			}
			parts = append(parts, t)
		}
		return strings.Join(parts, ","), parts, nil
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64), nil, nil
	}
	return string(raw), nil, nil
}

// refusePathParams rejects a parameter that repeats a part of the path with another value.
func (c *call) refusePathParams() error {
	for k, inPath := range c.vars {
		v, given := c.params[k]
		if given && v != inPath {
			return paramError(k, "duplicate parameter (already defined in URI) with conflicting values!")
		}
		delete(c.params, k)
	}
	return nil
}

// withPathErrors adds the errors of the path's variables to those of the parameters.
func (c *call) withPathErrors(err error) error {
	bad := map[string]string{}
	for name, r := range c.route.pathRules {
		if msg := r.verify(c.vars[name]); msg != "" {
			bad[name] = msg
		}
	}
	if err != nil && len(bad) == 0 {
		return err
	}
	return mergeParamErrors(err, bad)
}

// listParams are the parameters whose format is a list. For them an array is as valid as a comma-separated text.
var listParams = map[string]bool{
	"delete": true, "revert": true, "tags": true, "vms": true, "storage": true, "idlist": true, "nameserver": true, "searchdomain": true,
}

// refuseArrays rejects an array for a parameter that takes one value.
func (c *call) refuseArrays(s *schema) error {
	bad := map[string]string{}
	for k := range c.arrays {
		if listParams[k] {
			continue
		}
		typ := typeString
		r := s.rules[k] // the zero rule if it is unknown
		if r.array {
			continue
		}
		if r.typ != "" {
			typ = r.typ
		}
		bad[k] = fmt.Sprintf("type check ('%s') failed - got ARRAY", typ)
	}
	if len(bad) > 0 {
		return paramErrors(bad)
	}
	return nil
}

// readAll reads a bounded request body and closes it.
func readAll(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	if len(b) > maxBody {
		return nil, errors.New("request body is longer than 512 KiB")
	}
	return b, nil
}

// kindOfPath returns the kind of guest in the call's path.
func (c *call) kindOfPath() Kind {
	if strings.HasPrefix(c.route.path, "/nodes/{node}/lxc") {
		return LXC
	}
	return QEMU
}
