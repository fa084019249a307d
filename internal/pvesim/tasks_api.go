package pvesim

import (
	"net/http"
	"strings"
)

func taskRoutes() []*route {
	return []*route{
		readRoute("/nodes/{node}/tasks", listTasks).withParams(map[string]rule{
			"errors": boolean(), "limit": integer().atLeast(0), "since": integer(), "until": integer(),
			"source": enum("archive", "active", "all"), "start": integer().atLeast(0), "statusfilter": text(), "typefilter": text(),
			"userfilter": text(), "vmid": vmidRule,
		}),
		indexRoute("/nodes/{node}/tasks/{upid}", "name", "log", "status"),
		readRoute("/nodes/{node}/tasks/{upid}/status", taskStatus).needsRoot(),
		readRoute("/nodes/{node}/tasks/{upid}/log", taskLog).withParams(map[string]rule{
			"download": boolean(), "limit": integer().atLeast(0), "start": integer().atLeast(0),
		}).needsRoot(),
		writeRoute(http.MethodDelete, "/nodes/{node}/tasks/{upid}", stopTask),
	}
}

// writeUPIDFields writes the parts of the UPID, except the user.
func (t *task) writeUPIDFields(o *object) {
	o.str("upid", t.name)
	o.str("node", t.upid.node)
	o.num("pid", int64(t.upid.pid))
	o.num("pstart", t.upid.pstart)
	o.num("starttime", t.upid.starttime)
	o.str("type", t.upid.typ)
	o.str("id", t.upid.id)
}

// writeUser writes the user and the token as separate fields. The list of running tasks shows both in one field instead.
func (t *task) writeUser(o *object) {
	user, token, found := strings.Cut(t.upid.user, "!")
	o.str("user", user)
	if found {
		o.str("tokenid", token)
	}
}

// canSeeTask reports whether the caller may see the task: a task of the same user, or any task with Sys.Audit on the node.
func (c *call) canSeeTask(t *task) bool {
	user, _, _ := strings.Cut(t.upid.user, "!")
	return user == c.caller.user() || c.sim.allows(c.caller, "/nodes/"+t.upid.node, "Sys.Audit")
}

// task returns the task of the path. The errors for a malformed name and an unknown name differ.
func (c *call) task() (*task, error) {
	name := c.vars["upid"]
	if !upidText.MatchString(name) {
		return nil, paramError("upid", "unable to parse worker upid")
	}
	t := c.sim.taskIndex[name]
	if t == nil {
		return nil, paramError("upid", "no such task")
	}
	if !c.canSeeTask(t) {
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
	t.writeUPIDFields(&o)
	t.writeUser(&o)
	if t.ended.IsZero() {
		o.str("status", "running")
	} else {
		o.str("status", "stopped")
		o.str("exitstatus", t.exit)
	}
	return dataReply(o.bytes())
}

// taskLog returns a page of the log. The log of an unknown task is one line with an error.
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
		if c.caller.user() != strings.SplitN(t.upid.user, "!", 2)[0] {
			if err := c.require("/nodes/"+c.node(), "Sys.Modify"); err != nil {
				return err
			}
		}
		t.abortOnce.Do(func() { close(t.abort) })
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}
