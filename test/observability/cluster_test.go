//go:build integration

package observability

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"gitops-agent/internal/pvesim"
)

// agentToken is the token of the agents in the simulated cluster.
const agentToken = "gitops@pve!agent"

// allPrivileges and withoutPools are what an administrator gives the token.
var (
	allPrivileges = []pvesim.ACL{{Path: "/", Role: "Administrator"}}
	withoutPools  = []pvesim.ACL{{Path: "/", Role: "Administrator"}, {Path: "/pool", Role: "NoAccess"}}
)

// cluster breaks Proxmox: replies, a node, and then every member.
func cluster(w *world) {
	w.repo.Files["web.yaml"] = machine("web-1", 201)
	w.repo.Files["db.yaml"] = machine("db-1", 202, "node: pve2")
	w.begin()
	w.quiet("GitopsAgentProxmoxErrors", "GitopsAgentNodeUnknown", "GitopsAgentProxmoxUnusable", "GitopsAgentObservationStale", "GitopsAgentEndpointDown",
		"GitopsAgentClusterNotClaimed")

	w.silence(w.endpoints[1])
	w.inject(pvesim.Fault{Kind: pvesim.ProxyStatus, Status: 596, VMID: 201, Times: -1})
	w.fires("GitopsAgentProxmoxErrors")
	w.sim.ClearFaults()
	w.resolve("GitopsAgentProxmoxErrors")

	w.sim.StopNode("pve2")
	w.fires("GitopsAgentNodeUnknown")
	w.sim.StartNode("pve2")
	w.fires("GitopsAgentEndpointDown")
	w.answer(w.endpoints[1])
	w.resolve("GitopsAgentNodeUnknown", "GitopsAgentEndpointDown")

	for _, e := range w.endpoints {
		w.silence(e)
	}
	w.fires("GitopsAgentProxmoxUnusable", "GitopsAgentObservationStale")
	for _, e := range w.endpoints {
		w.answer(e)
	}
	w.resolve("GitopsAgentProxmoxUnusable", "GitopsAgentObservationStale")

	// The agent starts while its token lacks the privileges on pools, and something has to be done.
	w.terminate()
	w.sim.SetPrivileges(agentToken, withoutPools)
	w.ok(w.sim.Edit(201, "memory", "777"))
	w.start()
	w.fires("GitopsAgentClusterNotClaimed")
	w.sim.SetPrivileges(agentToken, allPrivileges)
	w.resolve("GitopsAgentClusterNotClaimed")
	w.converged()
}

// abortTasks ends the running tasks of a guest, as a person does in Proxmox. Those of other guests go on: a snapshot whose task is aborted waits for the next
// time of its schedule.
func (w *world) abortTasks(vmid int) {
	w.Helper()
	client := http.Client{Transport: w.sim.Transport()}
	for _, task := range w.sim.Tasks() {
		if !task.Active || !strings.Contains(task.UPID, fmt.Sprintf(":%d:", vmid)) {
			continue
		}
		req, err := http.NewRequestWithContext(w.Context(), http.MethodDelete,
			"https://sim/api2/json/nodes/"+strings.Split(task.UPID, ":")[1]+"/tasks/"+url.PathEscape(task.UPID), nil)
		w.ok(err)
		req.Header.Set("Authorization", "PVEAPIToken="+w.sim.Token("root@pam!full"))
		resp, err := client.Do(req)
		w.ok(err)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			w.Fatalf("abort %s: got %s, want 200", task.UPID, resp.Status)
		}
	}
}
