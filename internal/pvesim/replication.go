package pvesim

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/pvesim/configtext"
)

// replicationJob copies the local volumes of a guest to another node.
type replicationJob struct {
	vmid, number int
	values       values    // target, schedule, rate, comment, disable, source, remove_job
	removed      time.Time // when it was marked for removal
}

func (j *replicationJob) id() string { return itoa(j.vmid) + "-" + itoa(j.number) }

// replicationRound is how often a node works on its replication jobs.
const replicationRound = time.Minute

var replicationID = newPattern(`^([1-9]\d{2,8})-(\d{1,9})$`)

func checkReplicationID(s string) error {
	if !replicationID.MatchString(s) {
		return fmt.Errorf("invalid replication job id '%s'", s)
	}
	return nil
}

func replicationRoutes() []*route {
	change := map[string]rule{
		"schedule": checked(checkCalendarEvent).length(0, 128), "rate": number().atLeast(1), "comment": text().length(0, 4096), "disable": boolean(), "source": checked(checkNodeName),
		"remove_job": enum("local", "full"),
	}
	create := maps.Clone(change)
	create["id"], create["type"], create["target"] = checked(checkReplicationID).needed(), enum("local").needed(), checked(checkNodeName).needed()
	change["delete"], change["digest"] = text(), text()
	return []*route{
		readRoute("/cluster/replication", listReplications),
		writeRoute(http.MethodPost, "/cluster/replication", createReplication).withParams(create),
		readRoute("/cluster/replication/{id}", getReplication),
		writeRoute(http.MethodPut, "/cluster/replication/{id}", changeReplication).withParams(change),
		writeRoute(http.MethodDelete, "/cluster/replication/{id}", deleteReplication).withParams(map[string]rule{"keep": boolean(), "force": boolean()}),
		readRoute("/nodes/{node}/replication", listReplications).withParams(map[string]rule{"guest": vmidRule}),
		readRoute("/nodes/{node}/replication/{id}/status", getReplication),
		writeRoute(http.MethodPost, "/nodes/{node}/replication/{id}/schedule_now", scheduleReplication),
	}
}

// AddReplication adds a replication job of a guest to a node without the API. The simulator has one copy of each volume for all nodes, so the job only
// appears in the list of jobs.
func (s *Sim) AddReplication(vmid int, target string) {
	_ = s.locked(func() error {
		number := 0
		for _, j := range s.replications {
			if j.vmid == vmid {
				number = j.number + 1
			}
		}
		s.replications = append(s.replications, &replicationJob{vmid: vmid, number: number, values: values{"target": target}})
		return nil
	})
}

// SetReplication makes or replaces a replication job with the given keys, as a person would.
func (s *Sim) SetReplication(id string, keys map[string]string) {
	_ = s.locked(func() error {
		v := withoutEmpty(maps.Clone(keys))
		if j := s.replication(id); j != nil {
			j.values = v
			return nil
		}
		at := replicationID.FindStringSubmatch(id)
		s.replications = append(s.replications, &replicationJob{vmid: atoi(at[1]), number: atoi(at[2]), values: v})
		return nil
	})
}

// RemoveReplication removes a replication job at once, as with force.
func (s *Sim) RemoveReplication(id string) {
	_ = s.locked(func() error { s.dropReplication(s.replication(id)); return nil })
}

// Replication returns the keys of a replication job, nil if there is none.
func (s *Sim) Replication(id string) map[string]string {
	var keys map[string]string
	_ = s.locked(func() error {
		if j := s.replication(id); j != nil {
			keys = maps.Clone(j.values)
		}
		return nil
	})
	return keys
}

func (s *Sim) dropReplication(job *replicationJob) {
	s.replications = slices.DeleteFunc(s.replications, func(j *replicationJob) bool { return j == job })
}

// endReplications removes the jobs that were marked for removal a round ago. The node of the guest does that, if it answers. The state is locked.
func (s *Sim) endReplications() {
	s.replications = slices.DeleteFunc(s.replications, func(j *replicationJob) bool {
		g := s.guests[j.vmid]
		isUp := g == nil || !slices.Contains(s.down, g.node)
		return j.values["remove_job"] != "" && isUp && time.Since(j.removed) >= replicationRound
	})
}

// turnReplication lets the job that copied a guest to the node to which it moved copy back to the one from which it came. The state is locked.
//
// Source: PVE::ReplicationConfig switch_replication_job_target.
func (s *Sim) turnReplication(vmid int, from, to string) {
	for _, j := range s.replications {
		if j.vmid == vmid && j.values["target"] == to {
			j.values["target"], j.values["source"] = from, to
			return
		}
	}
}

// replication returns a job, nil if there is none. The state is locked.
func (s *Sim) replication(id string) *replicationJob {
	s.endReplications()
	if i := slices.IndexFunc(s.replications, func(j *replicationJob) bool { return j.id() == id }); i >= 0 {
		return s.replications[i]
	}
	return nil
}

func noReplication(id string) error { return apiErrorf("no such replication job '%s'", id) }

// object returns a job as it reads back.
func (j *replicationJob) object() *object {
	o := &object{}
	o.str("id", j.id())
	o.num("guest", int64(j.vmid))
	o.num("jobnum", int64(j.number))
	o.str("type", "local")
	for _, k := range sortedKeys(j.values) {
		if k == "disable" {
			o.num(k, int64(atoi(j.values[k])))
		} else {
			o.str(k, j.values[k])
		}
	}
	return o
}

// replicationDigest returns the digest of the file with all jobs. The state is locked.
func (s *Sim) replicationDigest() string {
	var b strings.Builder
	for _, j := range s.replications {
		b.WriteString("local: " + j.id() + "\n")
		for _, k := range sortedKeys(j.values) {
			b.WriteString("\t" + k + " " + j.values[k] + "\n")
		}
	}
	return configtext.Digest(b.String())
}

// listReplications leaves out the jobs of guests on which the caller lacks VM.Audit.
//
// Source: PVE::API2::ReplicationConfig index.
func listReplications(c *call) (reply, error) {
	c.sim.endReplications()
	var a array
	for _, job := range c.sim.replications {
		if c.allowed("/vms/"+itoa(job.vmid), "VM.Audit") {
			a.add(job.object())
		}
	}
	return dataReply(a.bytes())
}

func getReplication(c *call) (reply, error) {
	j := c.sim.replication(c.vars["id"])
	if at := replicationID.FindStringSubmatch(c.vars["id"]); at != nil {
		if err := c.require("/vms/"+at[1], "VM.Audit"); err != nil {
			return reply{}, err
		}
	}
	if j == nil {
		return reply{}, noReplication(c.vars["id"])
	}
	o := j.object()
	o.str("digest", c.sim.replicationDigest())
	return dataReply(o.bytes())
}

// updateReplications runs a change of the jobs with the state locked. The caller needs VM.Replicate on the guest of the id.
func (c *call) updateReplications(id string, change func() error) (reply, error) {
	err := c.sim.locked(func() error {
		at := replicationID.FindStringSubmatch(id)
		if at == nil {
			return paramError("id", "invalid format - "+checkReplicationID(id).Error()+"\n")
		}
		if err := c.require("/vms/"+at[1], "VM.Replicate"); err != nil {
			return err
		}
		if err := c.checkClusterLock("", "file-replication_cfg"); err != nil {
			return err
		}
		return change()
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

// createReplication refuses a second job of a guest to a node.
//
// Source: PVE::API2::ReplicationConfig create; PVE::ReplicationConfig write_config.
func createReplication(c *call) (reply, error) {
	id := c.params["id"]
	return c.updateReplications(id, func() error {
		at := replicationID.FindStringSubmatch(id)
		switch vmid, target := atoi(at[1]), c.params["target"]; {
		case c.sim.guests[vmid] == nil:
			return apiErrorf("Guest '%d' does not exist.", vmid)
		case len(c.sim.opts.Nodes) == 1 || !c.sim.hasNode(target): // a node alone is no cluster and has no members
			return apiErrorf("Target '%s' does not exist.", target)
		case c.sim.replication(id) != nil:
			return apiErrorf("replication job '%s' already exists", id)
		case slices.ContainsFunc(c.sim.replications, func(j *replicationJob) bool { return j.vmid == vmid && j.values["target"] == target }):
			return apiErrorf("replication job for guest '%d' to target 'local/%s' already exists", vmid, target)
		}
		v := maps.Clone(c.params)
		for _, k := range []string{"id", "type"} {
			delete(v, k)
		}
		c.sim.replications = append(c.sim.replications, &replicationJob{vmid: atoi(at[1]), number: atoi(at[2]), values: withoutEmpty(v)})
		return nil
	})
}

// changeReplication changes a job. Its target stays: the call has no such parameter.
func changeReplication(c *call) (reply, error) {
	return c.updateReplications(c.vars["id"], func() error {
		j := c.sim.replication(c.vars["id"])
		switch digest := c.params["digest"]; {
		case j == nil:
			return apiErrorf("no such job '%s'", c.vars["id"])
		case digest != "" && digest != c.sim.replicationDigest():
			return errors.New("detected modified configuration - file changed by other user? Try again.") //nolint:staticcheck // Proxmox's text
		}
		for _, k := range listOf(c.params["delete"]) {
			switch k {
			case "schedule", "rate", "comment", "disable", "source", "remove_job":
				delete(j.values, k)
			case "target":
				return apiErrorf("unable to delete required option '%s'", k)
			default:
				return apiErrorf("no such option '%s'", k)
			}
		}
		for k, v := range c.params {
			if k != "delete" && k != "digest" {
				j.values[k] = v
			}
		}
		withoutEmpty(j.values)
		return nil
	})
}

// deleteReplication marks a job for removal: it disappears when the node of the guest has removed the copies. With force it is removed at once.
func deleteReplication(c *call) (reply, error) {
	return c.updateReplications(c.vars["id"], func() error {
		j := c.sim.replication(c.vars["id"])
		switch {
		case j == nil:
			return apiErrorf("no such job '%s'", c.vars["id"])
		case c.flag("force"):
			c.sim.dropReplication(j)
			return nil
		}
		if j.values["remove_job"] == "" {
			j.removed = time.Now()
		}
		j.values["remove_job"] = "full"
		if c.flag("keep") {
			j.values["remove_job"] = "local"
		}
		return nil
	})
}

// scheduleReplication does nothing: all nodes have every volume.
func scheduleReplication(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		if c.sim.replication(c.vars["id"]) == nil {
			return noReplication(c.vars["id"])
		}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

// checkNotReplicated rejects the destruction of a guest with a replication job, except with purge. The state is locked.
//
// Source: PVE::ReplicationConfig check_for_existing_jobs.
func (c *call) checkNotReplicated(g *guest) error {
	c.sim.endReplications()
	for _, j := range c.sim.replications {
		if j.vmid == g.vmid && !c.flag("purge") {
			return apiErrorf("There is a replication job '%s' for guest '%d' - Please remove that first.", j.id(), g.vmid)
		}
	}
	return nil
}
