package pvesim

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"gitops-agent/internal/pvesim/configtext"
)

// haResource is a guest that the HA manager manages. Calls set the requested state, and the manager acts later.
type haResource struct {
	vmid  int
	kind  Kind
	state string
	extra values // comment, max_restart, ...
}

// haOptions are the parameters of a resource, beside its id.
var haOptions = map[string]rule{
	"state": enum("started", "stopped", "enabled", "disabled", "ignored"), "comment": text(), "max_restart": integer().atLeast(0),
	"max_relocate": integer().atLeast(0), "failback": boolean(), "group": checked(checkConfigID),
}

func haRoutes() []*route {
	create := maps.Clone(haOptions)
	create["sid"] = checked(checkHASid).needed()
	create["type"] = enum("ct", "vm")
	change := maps.Clone(haOptions)
	change["delete"], change["digest"] = text(), text()
	remove := map[string]rule{"purge": boolean()}
	audit := func(c *call) error { return c.require("/", "Sys.Audit") }
	console := func(c *call) error { return c.require("/", "Sys.Console") }
	return []*route{
		readRoute("/cluster/ha/resources", haList).withParams(map[string]rule{"type": enum("ct", "vm")}).withPermission(audit),
		writeRoute(http.MethodPost, "/cluster/ha/resources", haCreate).withParams(create).withPermission(console),
		readRoute("/cluster/ha/resources/{sid}", haGet).withPermission(audit),
		writeRoute(http.MethodPut, "/cluster/ha/resources/{sid}", haUpdate).withParams(change).withPermission(console),
		writeRoute(http.MethodDelete, "/cluster/ha/resources/{sid}", haDelete).withParams(remove).withPermission(console),
		writeRoute(http.MethodPost, "/cluster/ha/resources/{sid}/relocate", haRequestMove(true)).withParams(map[string]rule{"node": text().needed()}).withPermission(console),
		writeRoute(http.MethodPost, "/cluster/ha/resources/{sid}/migrate", haRequestMove(false)).withParams(map[string]rule{"node": text().needed()}).withPermission(console),
		readRoute("/cluster/ha/status/current", haStatus).withPermission(audit),
		readRoute("/cluster/ha/status/manager_status", haManagerStatus).withPermission(audit),
	}
}

var (
	haSid  = newPattern(`^(?:[a-z]+:\S+|\d+)$`)
	haName = newPattern(`^[1-9][0-9]+$`)
)

func checkHASid(s string) error {
	if !haSid.MatchString(s) {
		return errors.New("value does not look like a valid ha resource id")
	}
	return nil
}

func (h *haResource) sid() string {
	if h.kind == LXC {
		return "ct:" + itoa(h.vmid)
	}
	return "vm:" + itoa(h.vmid)
}

func (h *haResource) object(digest string) *object {
	o := &object{}
	o.str("digest", digest)
	o.str("sid", h.sid())
	o.str("type", h.sid()[:2])
	if h.state != "" {
		o.str("state", h.state)
	}
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
	digest := c.sim.haDigest()
	for _, id := range slices.Sorted(maps.Keys(c.sim.ha)) {
		if h := c.sim.ha[id]; c.params["type"] == "" || strings.HasPrefix(h.sid(), c.params["type"]) {
			a.add(h.object(digest))
		}
	}
	return dataReply(a.bytes())
}

// haOf returns the HA resource of the path, or nil.
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
		return reply{}, apiErrorf("no such resource '%s'", c.vars["sid"])
	}
	return dataReply(h.object(c.sim.haDigest()).bytes())
}

func haCreate(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		if err := c.requireQuorum(); err != nil {
			return err
		}
		if err := c.checkClusterLock("create resource failed: ", "domain-ha"); err != nil {
			return err
		}
		sid := c.params["sid"]
		kind, id, found := strings.Cut(sid, ":")
		if !found {
			kind, id = "", sid
		}
		if found && kind != "vm" && kind != "ct" {
			return apiErrorf("unknown section type '%s'", kind)
		}
		if !haName.MatchString(id) {
			return apiErrorf("invalid VMID")
		}
		g := c.sim.guests[atoi(id)]
		if err := c.checkGroup(true); err != nil {
			return err
		}
		switch {
		case g == nil:
			return apiErrorf("resource '%s' does not exist in cluster", sid)
		case kind == "ct" && g.kind != LXC:
			return apiErrorf("resource '%s' - guest with ID %d is not a container", sid, g.vmid)
		case kind == "vm" && g.kind != QEMU:
			return apiErrorf("resource '%s' - guest with ID %d is not a VM", sid, g.vmid)
		case c.sim.ha[g.vmid] != nil:
			return apiErrorf("create resource failed: resource ID '%s' already defined", sid)
		}
		h := &haResource{vmid: g.vmid, kind: g.kind, state: "started", extra: values{}}
		c.sim.ha[g.vmid] = h
		h.change(c)
		c.sim.scheduleHA()
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
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
		if k == "state" {
			h.state = ""
		}
		delete(h.extra, k)
	}
}

func haUpdate(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		const prefix = "update resources config failed: "
		if err := c.checkGroup(false); err != nil {
			return err
		}
		if err := c.checkClusterLock(prefix, "domain-ha"); err != nil {
			return err
		}
		if d := c.params["digest"]; d != "" && d != c.sim.haDigest() {
			return apiErrorf("%sdetected modified configuration - file changed by other user? Try again.", prefix)
		}
		h := c.haOf()
		if h == nil {
			return apiErrorf("%sno such resource '%s'", prefix, c.vars["sid"])
		}
		for _, k := range listOf(c.params["delete"]) {
			if _, known := haOptions[k]; !known {
				return apiErrorf("%sno such option '%s'", prefix, k)
			}
			if _, set := c.params[k]; set {
				return apiErrorf("%scannot set and delete property '%s' at the same time!", prefix, k)
			}
		}
		if err := c.sim.checkNotInError(h, c.params["state"]); err != nil {
			return err
		}
		h.change(c)
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

func haDelete(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		if err := c.checkClusterLock("delete resource failed: ", "domain-ha"); err != nil {
			return err
		}
		h := c.haOf()
		if h == nil {
			return apiErrorf("cannot delete service '%s', not HA managed!", c.vars["sid"])
		}
		delete(c.sim.ha, h.vmid)
		if c.params["purge"] != "0" {
			c.sim.dropFromHARules(h.sid())
		}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

// haDigest returns the digest of the manager's whole configuration, which every resource shows.
func (s *Sim) haDigest() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.ha)) {
		h := s.ha[id]
		b.WriteString(h.sid() + " " + h.state + "\n")
		for _, k := range sortedKeys(h.extra) {
			b.WriteString("\t" + k + " " + h.extra[k] + "\n")
		}
	}
	return configtext.Digest(b.String())
}
