package grafana

// Fleet returns the dashboard of all guests.
func Fleet() Dashboard {
	return newDashboard("gitops-agent-fleet", "gitops-agent / Fleet", "What is in sync, what waits and for whom, and how long pushes take.",
		stat("Guests", "Guests that a manifest names or that the agent owns.", "none", 4, query{`sum(gitops_agent_guests{instance=~"$instance"})`, ""}),
		stat("Out of sync", "Guests that are not in sync, or of which that is unknown.", "none", 4,
			query{`sum(gitops_agent_guests{instance=~"$instance", sync!="Synced"})`, ""}, 1, "orange"),
		stat("Share out of sync", "The same as a share of all guests.", "percentunit", 4, query{`max(gitops_agent:guests_out_of_sync:ratio{instance=~"$instance"})`, ""}, 0.01, "orange", 0.1, "red"),
		stat("Held steps", "Steps that the gate holds; the status page says how to release them.", "none", 4, query{`sum(gitops_agent_steps_held{instance=~"$instance"})`, ""}, 1, "orange"),
		stat("Need a person", "Guests that the agent cannot bring in sync by itself.", "none", 4, query{`sum(gitops_agent_guest_degraded{instance=~"$instance"})`, ""}, 1, "red"),
		stat("Slow pushes, 6 h", "Share of the pushes that took longer than ten minutes; the objective allows 1 %. Empty if nothing converged.", "percentunit", 4,
			query{`max(gitops_agent:pushes_slow:ratio_rate6h{instance=~"$instance"})`, ""}, 0.01, "orange", 0.06, "red"),
		row("Clusters"),
		clusters(),
		series("Guests out of sync by cluster", "Guests with a pending change, a restart to come or drift, and guests that were not read.", "none", 12, query{perCluster(`gitops_agent_guests{instance=~"$instance", sync!="Synced"}`), "{{cluster}}"}),
		series("Held steps by cluster", "Steps that wait for a person.", "none", 12, query{perCluster(`gitops_agent_steps_held{instance=~"$instance"}`), "{{cluster}}"}),
		row("Drift"),
		series("Guests by state", "Synced, OutOfSync and Unknown.", "none", 12, query{`sum by (sync) (gitops_agent_guests{instance=~"$instance"})`, "{{sync}}"}),
		series("Drifted keys by class", "What it costs to take the drift back.", "none", 12, query{`sum by (class) (gitops_agent_drift_keys{instance=~"$instance"})`, "{{class}}"}),
		table("Drifted guests", "Each guest that has drifted, and for how long, in seconds. Guests with a pending change, and those that wait for a restart, are not listed.", 12,
			query{`sort_desc(gitops_agent:guest_drift:age_seconds{instance=~"$instance"} * on (job, instance, kind, vmid) group_left (name, node) gitops_agent_guest_info{instance=~"$instance"})`, ""}),
		series("Drift found and corrected", "Guests that drifted, by cause, and whose drift has ended, in an hour.", "none", 12,
			query{`sum by (cause) (increase(gitops_agent_drift_detected_total{instance=~"$instance"}[1h]))`, "found: {{cause}}"},
			query{`sum(increase(gitops_agent_drift_corrected_total{instance=~"$instance"}[1h]))`, "corrected"}),
		series("Conditions", "Guests by the reason of a condition; docs/plan.md explains each.", "none", 12, query{`sum by (reason) (gitops_agent_conditions{instance=~"$instance"}) > 0`, "{{reason}}"}),
		series("Other guests", "Guests that no manifest names, that are suspended, whose records were lost, or that lack a snapshot of their schedule.", "none", 12,
			query{`sum(gitops_agent_snapshots_late{instance=~"$instance"})`, "snapshot late"},
			query{`sum(gitops_agent_unmanaged_guests{instance=~"$instance"})`, "not managed"}, query{`sum(gitops_agent_orphaned_guests{instance=~"$instance"})`, "owned, without a manifest"},
			query{`sum(gitops_agent_suspended_guests{instance=~"$instance"})`, "suspended"}, query{`sum by (verdict) (gitops_agent_lost_guests{instance=~"$instance"}) > 0`, "lost: {{verdict}}"}),
		row("Held steps"),
		bars("Held steps by reason", "approval and guard wait for a signed approval, window and waits-for for time, observe-mode and suspended for the manifest.", "none", 8,
			query{`sum by (reason) (gitops_agent_steps_held{instance=~"$instance"}) > 0`, "{{reason}}"}),
		series("Age of the oldest", "How long the oldest held step, pending restart, suspension and missing snapshot have lasted.", "s", 8,
			query{`time() - min by (reason) (gitops_agent_steps_held_oldest_timestamp_seconds{instance=~"$instance"} > 0)`, "held: {{reason}}"},
			query{`max by (state) ((time() - gitops_agent_rollouts_oldest_timestamp_seconds{instance=~"$instance", state!="done"}) * (gitops_agent_rollouts_oldest_timestamp_seconds{instance=~"$instance", state!="done"} > bool 0))`, "rollout: {{state}}"},
			query{`time() - min(gitops_agent_held_oldest_timestamp_seconds{instance=~"$instance"} > 0)`, "held: any reason"},
			query{`time() - min(gitops_agent_restart_pending_oldest_timestamp_seconds{instance=~"$instance"} > 0)`, "restart pending"},
			query{`time() - min(gitops_agent_suspended_oldest_timestamp_seconds{instance=~"$instance"} > 0)`, "suspended"},
			query{`time() - min(gitops_agent_snapshots_late_oldest_timestamp_seconds{instance=~"$instance"} > 0)`, "snapshot late"}),
		series("Signed orders and rollouts", "Approvals and other orders by what became of them, in a day, and the rollouts that are not done.", "none", 8,
			query{`sum by (state) (gitops_agent_rollouts{instance=~"$instance", state!="done"})`, "rollouts: {{state}}"},
			query{`sum by (operation, result) (increase(gitops_agent_orders_total{instance=~"$instance"}[1d]))`, "{{operation}}: {{result}}"}),
		row("Pushes"),
		heatmap("From push to converged", "Time from the signature of a revision until all its guests were in sync. The dots are single revisions.", "s", 12,
			query{`sum by (le) (increase(gitops_agent_push_to_converged_seconds_bucket{instance=~"$instance"}[$__rate_interval]))`, "{{le}}"}),
		series("From fetch to converged", "Median and 99th percentile of a day, and of the parts before and after the acceptance.", "s", 12,
			query{`histogram_quantile(0.5, sum by (le) (rate(gitops_agent_convergence_seconds_bucket{instance=~"$instance"}[1d])))`, "median"},
			query{`histogram_quantile(0.99, sum by (le) (rate(gitops_agent_convergence_seconds_bucket{instance=~"$instance"}[1d])))`, "99 %"},
			query{`histogram_quantile(0.99, sum by (le, stage) (rate(gitops_agent_convergence_stage_seconds_bucket{instance=~"$instance"}[1d])))`, "{{stage}}, 99 %"}),
		series("Guests created and destroyed", "Steps that were done, in an hour.", "none", 12,
			query{`sum by (op) (increase(gitops_agent_steps_total{instance=~"$instance", op=~"create|destroy", result="done"}[1h]))`, "{{op}}"}),
		series("Steps by result", "failed and unknown need a person.", "none", 12, query{`sum by (result) (increase(gitops_agent_steps_total{instance=~"$instance"}[1h]))`, "{{result}}"}),
	)
}

// withCluster adds the label cluster to the series of an agent.
const withCluster = ` * on (job, instance) group_left (cluster) gitops_agent_cluster_info{instance=~"$instance"}`

// perCluster returns the sum of a selector for each cluster.
func perCluster(selector string) string { return `sum by (cluster) (` + selector + withCluster + `)` }

// clusters returns the table with one line for each cluster.
func clusters() Panel {
	p := table("Clusters", "One line for each cluster. Writes is allowed, or says why the agent writes nothing, for example because it is paused.", 24,
		query{perCluster(`gitops_agent_guests{instance=~"$instance"}`), ""}, query{perCluster(`gitops_agent_guests{instance=~"$instance", sync!="Synced"}`), ""},
		query{perCluster(`gitops_agent_steps_held{instance=~"$instance"}`), ""}, query{perCluster(`gitops_agent_guest_degraded{instance=~"$instance"}`), ""},
		query{`max by (cluster, reason) (gitops_agent_writes_allowed{instance=~"$instance"}` + withCluster + `) == 1`, ""},
		query{`max by (cluster) ((time() - (gitops_agent_cycle_timestamp_seconds{instance=~"$instance"} > 0))` + withCluster + `)`, ""})
	const age = "age of the newest cycle"
	p.FieldConfig["overrides"] = []object{{"matcher": object{"id": "byName", "options": age}, "properties": []object{{"id": "unit", "value": "s"}}}}
	p.Transforms = []object{{"id": "merge", "options": object{}}, {"id": "organize", "options": object{
		"excludeByName": object{"Time": true, "Value #E": true},
		"renameByName":  object{"Value #A": "guests", "Value #B": "out of sync", "Value #C": "held steps", "Value #D": "need a person", "reason": "writes", "Value #F": age},
	}}}
	return p
}
