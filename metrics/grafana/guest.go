package grafana

// Guest returns the dashboard of chosen guests.
func Guest() Dashboard {
	const chosen = `{instance=~"$instance", vmid=~"$guest"}`
	named := func(expr string) string {
		return "(" + expr + ") * on (job, instance, kind, vmid) group_left (name, node) gitops_agent_guest_info" + chosen
	}
	age := func(metric string) string { return named("time() - (" + metric + chosen + " > 0)") }
	d := newDashboard("gitops-agent-guest", "gitops-agent / Guest", "How a guest has been: in sync, drifted, held, and when it was read.",
		table("Guests", "The chosen guests. 1 is in sync.", 24, query{named("gitops_agent_guest_in_sync" + chosen), ""}),
		states("In sync", "Whether what the manifest wants was read and is in effect.", 12, query{named("gitops_agent_guest_in_sync" + chosen), "{{name}} ({{vmid}})"}),
		states("Needs a person", "Whether the agent cannot bring the guest in sync by itself.", 12, query{named("gitops_agent_guest_degraded" + chosen), "{{name}} ({{vmid}})"}),
		series("Drifted keys", "Configuration keys that others changed in the cluster.", "none", 12, query{named("gitops_agent_guest_drift_keys" + chosen), "{{name}} ({{vmid}})"}),
		series("Held steps", "The page of the guest says why, and how to release them.", "none", 12, query{named("gitops_agent_guest_held_steps" + chosen), "{{name}} ({{vmid}})"}),
		series("Time since drift", "How long ago the guest was changed in the cluster. A guest with a pending change, or one that waits for a restart, has no line.", "s", 8, query{age("gitops_agent_guest_drift_start_timestamp_seconds"), "{{name}} ({{vmid}})"}),
		series("Time since it was in sync", "Since the start of the agent.", "s", 8, query{age("gitops_agent_guest_last_converged_timestamp_seconds"), "{{name}} ({{vmid}})"}),
		series("Age of the last reading", "With proxmox.vmlist_file, unchanged guests are read only every vmlist_check.", "s", 8,
			query{age("gitops_agent_guest_last_observed_timestamp_seconds"), "{{name}} ({{vmid}})"}),
		row("All guests of the agent"),
		series("Planned steps by effect", "Steps of the newest plan.", "none", 8, query{`sum by (class) (gitops_agent_plan_steps{instance=~"$instance"})`, "{{class}}"}),
		series("Steps by operation and result", "Steps that ended, in an hour. The metrics do not tell the guests apart: the history is on the page of the guest.", "none", 8,
			query{`sum by (op, result) (increase(gitops_agent_steps_total{instance=~"$instance"}[1h])) > 0`, "{{op}}: {{result}}"}),
		series("Restarts", "Guests that the agent started, stopped or restarted, in an hour.", "none", 8,
			query{`sum by (op) (increase(gitops_agent_steps_total{instance=~"$instance", op=~"start|reboot|shutdown|stop", result="done"}[1h]))`, "{{op}}"}),
	)
	d.Templating.List = append(d.Templating.List, variable("guest", "Guest", `query_result(gitops_agent_guest_info{instance=~"$instance"})`, `/name="(?<text>[^"]*)".*vmid="(?<value>[^"]*)"/`))
	d.Links[1]["title"], d.Links[1]["url"] = "Page of the guest", "http://${instance}/guests/${guest}"
	return d
}
