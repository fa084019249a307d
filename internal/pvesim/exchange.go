package pvesim

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// apiRoot is the path of the API. JSON is the only output format.
const apiRoot = "/api2/json"

// exchange reads the body of one HTTP request and answers the request.
func (s *Sim) exchange(r *http.Request) response {
	body, err := readAll(r)
	if err != nil {
		return s.failure(apiErrorf("%v", err))
	}
	return s.answer(r, body)
}

// answer runs the call of a request, with the effects of a fault before and after it.
func (s *Sim) answer(r *http.Request, body []byte) response {
	c := &call{sim: s, host: r.Host, method: r.Method}
	c.via = s.answering(r.Host)
	segments, ok := splitPath(r.URL.EscapedPath())
	c.path = "/" + strings.Join(segments, "/")
	if !ok {
		return s.failure(notImplemented(c.method, r.URL.Path))
	}
	c.route, c.vars = s.routes.find(r.Method, segments)
	paramErr := c.readParams(r, body)
	f := s.matchFault(c)
	s.countCall(c)
	if !s.waitLatency(c) {
		return response{drop: true}
	}
	if resp, done := s.before(f, c); done {
		return resp
	}
	resp := s.perform(c, r.Header.Get("Authorization"), paramErr)
	return s.after(f, c, resp)
}

// splitPath decodes the path below the API root and splits it into segments. An encoded slash also separates segments.
func splitPath(escaped string) ([]string, bool) {
	rest, ok := strings.CutPrefix(escaped, apiRoot)
	if !ok {
		return nil, false
	}
	decoded, err := url.PathUnescape(rest)
	if err != nil {
		return nil, false
	}
	return slices.DeleteFunc(strings.Split(decoded, "/"), func(seg string) bool { return seg == "" }), true
}

// perform runs the checks in Proxmox's order, then the handler: token, route, permission, node, parameters.
func (s *Sim) perform(c *call, authorization string, paramErr error) response {
	switch c.method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
	default:
		return s.failure(&apiError{status: http.StatusNotImplemented, message: "method '" + c.method + "' not available", noBody: true})
	}
	who, err := s.authenticate(authorization)
	if err != nil {
		s.wait(s.opts.UnauthorizedDelay)
		return s.failure(err)
	}
	c.caller = who
	if paramErr != nil {
		return s.failure(paramErr)
	}
	if c.route == nil {
		return s.failure(notImplemented(c.method, c.path))
	}
	rep, err := s.handle(c)
	if errors.Is(err, errClosed) {
		return response{drop: true}
	}
	if err != nil {
		return s.failure(err)
	}
	s.countObject(c)
	return success(rep)
}

func (s *Sim) handle(c *call) (reply, error) {
	s.mu.Lock()
	err := s.checkCall(c)
	if err == nil && !c.route.needsWorker() && !c.isSlow() {
		rep, err := c.route.read(c)
		s.mu.Unlock()
		return rep, err
	}
	s.mu.Unlock()
	s.waitWith(err)
	if err != nil {
		return reply{}, err
	}
	return s.runWithinProxyTimeout(c)
}

// checkNode returns an error if the node of the call does not exist or does not answer. The state is locked.
func (s *Sim) checkNode(c *call) error {
	n, ok := c.vars["node"]
	switch {
	case !ok || c.route.unproxied:
		return nil
	case !s.hasNode(n):
		return apiErrorf("hostname lookup '%s' failed - failed to get address info for: %s: Name or service not known", n, n)
	case !s.reaches(c.local(), n) && !slices.Contains(s.down, n):
		since := max(time.Since(s.cut[n]), time.Since(s.cut[c.local()]))
		for _, name := range []string{n, c.local()} {
			if at, isCut := s.cut[name]; isCut {
				since = time.Since(at)
			}
		}
		if since < connectTimeout/3 {
			return &apiError{status: statusUnreachable, message: "Connection timed out", noBody: true, after: connectTimeout}
		}
		// The first ones learn it together, later ones at once.
		return &apiError{status: statusUnreachable, message: "No route to host", noBody: true, after: max(connectTimeout*4/3-since, time.Second/2)}
	case slices.Contains(s.down, n):
		return &apiError{status: statusUnreachable, message: "No route to host", noBody: true}
	case slices.Contains(s.starting, n):
		return &apiError{status: statusUnreachable, message: "Connection refused", noBody: true}
	}
	return nil
}

// connectTimeout is how long the proxy tries to connect to a node that has just left the network.
const connectTimeout = 30 * time.Second

// reaches reports whether the network connects two nodes that run. The state is locked.
func (s *Sim) reaches(from, to string) bool {
	_, a := s.cut[from]
	_, b := s.cut[to]
	return from == to || !a && !b && !slices.Contains(s.down, to)
}

// checkCall runs all checks that do not need the handler. The state is locked.
func (s *Sim) checkCall(c *call) error {
	if err := c.refusePathParams(); err != nil {
		return err
	}
	if c.route.permission != nil {
		if err := c.route.permission(c); err != nil {
			return err
		}
	}
	if err := s.checkNode(c); err != nil {
		return err
	}
	if v, ok := c.vars["vmid"]; ok {
		if msg := vmidRule.verify(v); msg != "" {
			return paramError("vmid", msg)
		}
	}
	if err := c.refuseArrays(c.route.schema); err != nil {
		return err
	}
	if err := c.refuseRelease9Keys(); err != nil {
		return err
	}
	if c.route.verify != nil {
		return c.withPathErrors(c.route.verify(c.route.schema, c.params))
	}
	return c.withPathErrors(c.route.schema.verify(c.params))
}

// wait waits for d. It returns false if the Sim is closed first.
func (s *Sim) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.closed:
		return false
	}
}
