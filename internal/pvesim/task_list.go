package pvesim

import (
	"slices"
	"strings"
)

// statusText returns the exit status as lists show it.
func (t *task) statusText() string {
	if t.ended.IsZero() {
		return "RUNNING"
	}
	return t.exit
}

func (t *task) failed() bool { return !t.ended.IsZero() && t.exit != "OK" }

// listTasks shows the ended tasks, newest first. With source=active it shows the running tasks, with source=all both.
func listTasks(c *call) (reply, error) {
	var fit []*task
	for _, t := range slices.Backward(c.sim.tasks) {
		if t.upid.node == c.node() && c.sim.taskIndex[t.name] != nil && c.canSeeTask(t) && c.matchesFilter(t) {
			fit = append(fit, t)
		}
	}
	total := len(fit)
	limit := 50
	if l, ok := c.params["limit"]; ok {
		limit = atoi(l)
	}
	fit = fit[min(atoi(c.params["start"]), total):]
	if limit > 0 {
		fit = fit[:min(limit, len(fit))]
	}
	var a array
	for _, t := range fit {
		var o object
		t.writeUPIDFields(&o)
		o.str("status", t.statusText())
		if t.ended.IsZero() {
			o.str("user", t.upid.user)
			o.str("saved", "0")
		} else {
			t.writeUser(&o)
			o.num("endtime", t.ended.Unix())
		}
		a.add(&o)
	}
	return reply{data: a.bytes(), total: total}, nil
}

func (c *call) matchesFilter(t *task) bool {
	p := c.params
	source := p["source"]
	running := t.ended.IsZero()
	switch {
	case source == "active" && !running, (source == "" || source == "archive") && running:
		return false
	case p["vmid"] != "" && t.upid.id != p["vmid"]:
		return false
	case c.flag("errors") && !t.failed():
		return false
	case p["typefilter"] != "" && !strings.Contains(t.upid.typ, p["typefilter"]):
		return false
	case p["userfilter"] != "" && !strings.Contains(strings.ToLower(t.upid.user), strings.ToLower(p["userfilter"])):
		return false
	case p["since"] != "" && t.upid.starttime < int64(atoi(p["since"])):
		return false
	case p["until"] != "" && t.upid.starttime > int64(atoi(p["until"])):
		return false
	}
	return p["statusfilter"] == "" || slices.Contains(listOf(p["statusfilter"]), t.statusClass())
}

// statusClass returns the class of the exit status by the names of the parameter statusfilter.
func (t *task) statusClass() string {
	switch {
	case t.exit == "OK":
		return "ok"
	case strings.HasPrefix(t.exit, "WARNINGS: "):
		return "warning"
	case t.ended.IsZero() || t.exit == errKilled.Error():
		return "unknown"
	}
	return "error"
}

func clusterTasks(c *call) (reply, error) {
	var a array
	n := 0
	for _, t := range slices.Backward(c.sim.tasks) {
		if c.sim.taskIndex[t.name] == nil || !c.canSeeTask(t) {
			continue
		}
		if n++; n > 25 {
			break
		}
		var o object
		o.str("upid", t.name)
		o.str("node", t.upid.node)
		o.num("starttime", t.upid.starttime)
		o.str("type", t.upid.typ)
		o.str("id", t.upid.id)
		t.writeUser(&o)
		if !t.ended.IsZero() {
			o.str("status", t.exit)
			o.num("endtime", t.ended.Unix())
			o.str("saved", "1")
		}
		a.add(&o)
	}
	return dataReply(a.bytes())
}
