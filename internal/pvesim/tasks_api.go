package pvesim

import (
	"net/http"
	"slices"
	"strings"
)

func taskRoutes() []*route {
	return []*route{
		get("/nodes/{node}/tasks", listTasks).takes(map[string]rule{
			"errors": boolean(), "limit": integer().atLeast(0), "since": integer(), "until": integer(),
			"source": enum("archive", "active", "all"), "start": integer().atLeast(0), "statusfilter": text(), "typefilter": text(),
			"userfilter": text(), "vmid": vmidRule,
		}),
		index("/nodes/{node}/tasks/{upid}", "name", "log", "status"),
		get("/nodes/{node}/tasks/{upid}/status", taskStatus),
		get("/nodes/{node}/tasks/{upid}/log", taskLog).takes(map[string]rule{
			"download": boolean(), "limit": integer().atLeast(0), "start": integer().atLeast(0),
		}),
		act(http.MethodDelete, "/nodes/{node}/tasks/{upid}", stopTask),
	}
}

// statusText is the exit status as lists show it.
func (t *task) statusText() string {
	if t.ended.IsZero() {
		return "RUNNING"
	}
	return t.exit
}

func (t *task) failed() bool { return !t.ended.IsZero() && t.exit != "OK" }

// writeCommon prints the parts of the UPID. In lists the user of a running task keeps its token.
func (t *task) writeCommon(o *object) {
	o.str("upid", t.name)
	o.str("node", t.upid.node)
	o.num("pid", int64(t.upid.pid))
	o.num("pstart", t.upid.pstart)
	o.num("starttime", t.upid.starttime)
	o.str("type", t.upid.typ)
	o.str("id", t.upid.id)
}

func (t *task) writeUser(o *object) {
	user, token, found := strings.Cut(t.upid.user, "!")
	o.str("user", user)
	if found {
		o.str("tokenid", token)
	}
}

// visible says whether the caller may see the task: its own, or any with Sys.Audit on the node.
func (c *call) visible(t *task) bool {
	user, _, _ := strings.Cut(t.upid.user, "!")
	return user == c.who.user() || c.sim.allows(c.who, "/nodes/"+t.upid.node, "Sys.Audit")
}

// listTasks shows the archive newest first; running tasks come with source active or all.
func listTasks(c *call) (reply, error) {
	var fit []*task
	for _, t := range slices.Backward(c.sim.tasks) {
		if t.upid.node == c.node() && c.visible(t) && c.fits(t) {
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
		t.writeCommon(&o)
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

func (c *call) fits(t *task) bool {
	p := c.params
	source := p["source"]
	running := t.ended.IsZero()
	switch {
	case source == "active" && !running, (source == "" || source == "archive") && running:
		return false
	case p["vmid"] != "" && t.upid.id != p["vmid"]:
		return false
	case c.is("errors") && !t.failed():
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
	return p["statusfilter"] == "" || slices.Contains(listOf(p["statusfilter"]), t.class())
}

// class is the exit status by the names of statusfilter.
func (t *task) class() string {
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
		if !c.visible(t) {
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
	return data(a.bytes())
}

// task finds the task of the path, with the texts for a malformed and an unknown name.
func (c *call) task() (*task, error) {
	name := c.vars["upid"]
	if !upidText.MatchString(name) {
		return nil, badParam("upid", "unable to parse worker upid")
	}
	t := c.sim.taskIndex[name]
	if t == nil {
		return nil, badParam("upid", "no such task")
	}
	if !c.visible(t) {
		return nil, forbidden("/nodes/" + c.node() + ", Sys.Audit")
	}
	return t, nil
}

func taskStatus(c *call) (reply, error) {
	t, err := c.task()
	if err != nil {
		return reply{}, err
	}
	var o object
	t.writeCommon(&o)
	t.writeUser(&o)
	if t.ended.IsZero() {
		o.str("status", "running")
	} else {
		o.str("status", "stopped")
		o.str("exitstatus", t.exit)
	}
	return data(o.bytes())
}

// taskLog pages through the log; the log of an unknown task is one line that says so.
func taskLog(c *call) (reply, error) {
	t, err := c.task()
	var lines []string
	switch e, ok := err.(*apiError); { //nolint:errorlint // task returns its own error type, unwrapped
	case err == nil:
		lines = t.log
	case ok && e.params["upid"] == "no such task":
		lines = []string{"unable to open file - No such file or directory"}
	default:
		return reply{}, err
	}
	total, limit := len(lines), 50
	if l, ok := c.params["limit"]; ok {
		limit = atoi(l)
	}
	start := min(atoi(c.params["start"]), total)
	end := total
	if limit > 0 {
		end = min(start+limit, total)
	}
	var a array
	for i := start; i < end; i++ {
		var o object
		o.num("n", int64(i+1))
		o.str("t", lines[i])
		a.add(&o)
	}
	if total == 0 {
		var o object
		o.num("n", 1)
		o.str("t", "no content")
		a.add(&o)
		total = 1
	}
	return reply{data: a.bytes(), total: total}, nil
}

func stopTask(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		t, err := c.task()
		if err != nil {
			return err
		}
		if c.who.user() != strings.SplitN(t.upid.user, "!", 2)[0] {
			if err := c.require("/nodes/"+c.node(), "Sys.Modify"); err != nil {
				return err
			}
		}
		t.stop.Do(func() { close(t.abort) })
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return null()
}
