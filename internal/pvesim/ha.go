package pvesim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// haResource is a guest that the cluster's resource manager watches over: calls set its wish, the manager acts later.
type haResource struct {
	vmid  int
	kind  Kind
	state string
	extra values // comment, max_restart, ...
}

func haRoutes() []*route {
	rules := map[string]rule{
		"state": enum("started", "stopped", "enabled", "disabled", "ignored"), "comment": text(), "max_restart": integer().atLeast(0),
		"max_relocate": integer().atLeast(0), "failback": boolean(), "group": text(),
	}
	create := maps.Clone(rules)
	create["sid"] = matching(`(vm:|ct:)?\d+`).needed()
	create["type"] = enum("ct", "vm")
	change := maps.Clone(rules)
	change["delete"], change["digest"] = text(), text()
	audit := func(c *call) error { return c.require("/", "Sys.Audit") }
	console := func(c *call) error { return c.require("/", "Sys.Console") }
	return []*route{
		get("/cluster/ha/resources", haList).takes(map[string]rule{"type": enum("ct", "vm")}).permits(audit),
		act(http.MethodPost, "/cluster/ha/resources", haCreate).takes(create).permits(console),
		get("/cluster/ha/resources/{sid}", haGet).permits(audit),
		act(http.MethodPut, "/cluster/ha/resources/{sid}", haUpdate).takes(change).permits(console),
		act(http.MethodDelete, "/cluster/ha/resources/{sid}", haDelete).takes(map[string]rule{"purge": boolean()}).permits(console),
		get("/cluster/ha/rules", emptyList).permits(audit),
		get("/cluster/ha/groups", func(*call) (reply, error) {
			return reply{}, die("cannot index groups: ha groups have been migrated to rules")
		}).permits(audit),
		get("/cluster/ha/status/current", haStatus).permits(audit),
	}
}

func (h *haResource) sid() string {
	if h.kind == LXC {
		return "ct:" + itoa(h.vmid)
	}
	return "vm:" + itoa(h.vmid)
}

func (h *haResource) object(s *Sim) *object {
	o := &object{}
	o.str("digest", s.haDigest())
	o.str("sid", h.sid())
	o.str("type", h.sid()[:2])
	o.str("state", h.state)
	for _, k := range slices.Sorted(maps.Keys(h.extra)) {
		if integerText.MatchString(h.extra[k]) && k != "comment" {
			o.num(k, int64(atoi(h.extra[k])))
		} else {
			o.str(k, h.extra[k])
		}
	}
	return o
}

func haList(c *call) (reply, error) {
	var a array
	for _, id := range slices.Sorted(maps.Keys(c.sim.ha)) {
		if h := c.sim.ha[id]; c.params["type"] == "" || strings.HasPrefix(h.sid(), c.params["type"]) {
			a.add(h.object(c.sim))
		}
	}
	return data(a.bytes())
}

func haStatus(c *call) (reply, error) {
	var a array
	var q, f object
	for _, kv := range [][2]string{{"id", "quorum"}, {"type", "quorum"}, {"node", c.sim.opts.Nodes[0]}, {"status", "OK"}} {
		q.str(kv[0], kv[1])
	}
	q.num("quorate", 1)
	for _, kv := range [][2]string{
		{"id", "fencing"}, {"type", "fencing"}, {"node", c.sim.opts.Nodes[0]}, {"status", "standby (CRM watchdog standby)"}, {"armed-state", "standby"},
	} {
		f.str(kv[0], kv[1])
	}
	a.add(&q)
	a.add(&f)
	return data(a.bytes())
}

// haOf finds the resource of the path.
func (c *call) haOf() *haResource {
	_, id, found := strings.Cut(c.vars["sid"], ":")
	if !found {
		id = c.vars["sid"]
	}
	return c.sim.ha[atoi(id)]
}

func haGet(c *call) (reply, error) {
	h := c.haOf()
	if h == nil {
		return reply{}, die("no such resource '%s'", c.vars["sid"])
	}
	return data(h.object(c.sim).bytes())
}

func haCreate(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		sid := c.params["sid"]
		_, id, found := strings.Cut(sid, ":")
		if !found {
			id = sid
		}
		g := c.sim.guests[atoi(id)]
		switch {
		case g == nil:
			return die("resource '%s' does not exist in cluster", sid)
		case c.sim.ha[g.vmid] != nil:
			return die("create resource failed: resource ID '%s' already defined", sid)
		}
		h := &haResource{vmid: g.vmid, kind: g.kind, state: "started", extra: values{}}
		c.sim.ha[g.vmid] = h
		h.change(c)
		c.sim.haWish(h)
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return null()
}

func (h *haResource) change(c *call) {
	for k, v := range c.params {
		switch k {
		case "sid", "type", "digest", "delete":
		case "state":
			h.state = v
		default:
			h.extra[k] = v
		}
	}
	for _, k := range listOf(c.params["delete"]) {
		delete(h.extra, k)
	}
}

func haUpdate(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		h := c.haOf()
		if h == nil {
			return die("no such resource '%s'", c.vars["sid"])
		}
		h.change(c)
		c.sim.haWish(h)
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return null()
}

func haDelete(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		h := c.haOf()
		if h == nil {
			return die("cannot delete service '%s', not HA managed!", c.vars["sid"])
		}
		delete(c.sim.ha, h.vmid)
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return null()
}

// haCall turns a power call on a managed guest into a task that only records the wish. ok says whether the guest is managed.
func (c *call) haCall(typ, word, state string) (rep reply, ok bool, err error) {
	c.sim.mu.Lock()
	h := c.sim.ha[c.vmid()]
	c.sim.mu.Unlock()
	if h == nil {
		return reply{}, false, nil
	}
	rep, err = c.start(typ, c.vmid(), func(t *task) error {
		if err := t.work(1); err != nil {
			return err
		}
		return t.locked(func() error {
			t.printf("Requesting HA %s for %s %d", word, kindLabel(h.kind), h.vmid)
			h.state = state
			t.sim.haWish(h)
			return nil
		})
	})
	return rep, true, err
}

// haWish makes the manager act on a resource after HADelay, with tasks of its own. The state is locked.
func (s *Sim) haWish(h *haResource) {
	s.work.Go(func() {
		if !s.wait(s.opts.HADelay) {
			return
		}
		s.mu.Lock()
		g, current := s.guests[h.vmid], s.ha[h.vmid]
		idle := g == nil || current != h || s.opts.HADelay < 0
		start := !idle && !g.running && (h.state == "started" || h.state == "enabled")
		stop := !idle && g.running && (h.state == "stopped" || h.state == "disabled")
		s.mu.Unlock()
		if start || stop {
			s.haAct(g, start)
		}
	})
}

func (s *Sim) haAct(g *guest, start bool) {
	typ := typePrefix(g.kind)
	if !start {
		s.spawn(g.node, typ+"shutdown", itoa(g.vmid), g.vmid, "root@pam", nil, func(t *task) error {
			return t.onGuest(g.kind, g.vmid, func() error {
				if g.running {
					s.halt(g)
				}
				return nil
			})
		})
		return
	}
	s.spawn(g.node, typ+"start", itoa(g.vmid), g.vmid, "root@pam", nil, func(t *task) error {
		if g.kind == LXC {
			return t.startCT(g.node, g.vmid)
		}
		return t.startVM(g.node, g.vmid)
	})
}

// leaveHA refuses to destroy a managed guest without purge. The state is locked.
func (c *call) leaveHA(g *guest) error {
	if c.sim.ha[g.vmid] == nil || c.is("purge") {
		return nil
	}
	return die("unable to remove %s %d - used in HA resources and purge parameter not set.", g.label(), g.vmid)
}

const defaultHADelay = 10 * time.Second

// haDigest is the digest of the manager's whole configuration, which every resource shows.
func (s *Sim) haDigest() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.ha)) {
		h := s.ha[id]
		b.WriteString(h.sid() + " " + h.state + "\n")
	}
	return digest(b.String())
}
