package pvesim

import "slices"

// replicationJob copies the local volumes of a guest to another node.
type replicationJob struct {
	vmid   int
	target string
}

func replicationRoutes() []*route {
	return []*route{readRoute("/cluster/replication", listReplications)}
}

// AddReplication adds a replication job of a guest to a node without the API. The simulator has one copy of each volume for all nodes, so the job only
// appears in the list of jobs.
func (s *Sim) AddReplication(vmid int, target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replications = append(s.replications, replicationJob{vmid, target})
}

// listReplications leaves out the jobs of guests on which the caller lacks VM.Audit.
//
// Source: PVE::API2::ReplicationConfig index.
func listReplications(c *call) (reply, error) {
	var a array
	for i, job := range c.sim.replications {
		if !c.allowed("/vms/"+itoa(job.vmid), "VM.Audit") {
			continue
		}
		number := len(slices.DeleteFunc(slices.Clone(c.sim.replications[:i]), func(r replicationJob) bool { return r.vmid != job.vmid }))
		var o object
		o.str("id", itoa(job.vmid)+"-"+itoa(number))
		o.num("guest", int64(job.vmid))
		o.num("jobnum", int64(number))
		o.str("target", job.target)
		o.str("type", "local")
		a.add(&o)
	}
	return dataReply(a.bytes())
}
