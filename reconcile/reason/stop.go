package reason

// Stop is the reason why the agent does not write to the cluster. It is a label of metrics.
type Stop string

// Reasons not to write. WritesAllowed means that the agent may write.
const (
	WritesAllowed  Stop = "allowed"
	StopNoRevision Stop = "no-revision" // no revision was accepted yet
	StopDryRun     Stop = "dry-run"
	StopJournal    Stop = "journal"    // the agent cannot write its journal
	StopPaused     Stop = "paused"     // a person on the agent's host paused it
	StopNotReady   Stop = "cluster"    // no quorum, or no answer
	StopUnverified Stop = "unverified" // the accepted revision no longer verifies
	StopUnchecked  Stop = "unchecked"  // which revision is in force is unknown: the floor in the cluster was not read yet
	StopPolicy     Stop = "policy"     // the trusted root, or another part of the policy, cannot be read
	StopClosing    Stop = "stopping"
	StopStandby    Stop = "standby" // another agent leads

	StopSuperseded     Stop = "superseded"      // another agent has claimed the cluster
	StopUnclaimed      Stop = "unclaimed"       // the agent could not claim the cluster
	StopStateDirectory Stop = "state-directory" // the state directory was removed or replaced while the agent runs
)

// StopRow is what every outlet says about a reason not to write.
type StopRow struct {
	Stop     Stop
	Act      Act
	Severity Severity // SeverityInfo and SeverityProgress belong to every start and end of an agent, so they are not sent as messages
	Title    string   // for pages
	Sentence string   // what is the case; the report has the details
	Remedy   Remedy   // zero if the report has it, or nothing is to be done
	Part     string   // what the probe names, "" for a stop that it does not report
	Told     bool     // another part of the report states it too: the revision, the cluster, the journal, the pause, which agent leads
	Runbook  string   // heading of docs/operations.md
}

// Row returns the row of the reason. WritesAllowed has an empty one, and so has a reason of another release.
func (s Stop) Row() StopRow {
	for _, r := range stops {
		if r.Stop == s {
			return r
		}
	}
	return StopRow{Stop: s}
}

// Stops lists WritesAllowed and every reason, for metrics that start at zero.
func Stops() []Stop {
	list := []Stop{WritesAllowed}
	for _, r := range stops {
		list = append(list, r.Stop)
	}
	return list
}

var stops = []StopRow{
	{
		Stop: StopNoRevision, Act: Wait, Severity: SeverityInfo, Part: "revision", Told: true,
		Title: "No revision is accepted yet", Sentence: "the agent does not change the cluster",
	},
	{Stop: StopDryRun, Act: FixHost, Severity: SeverityInfo, Title: "Dry run", Sentence: "the agent plans and reports, but writes nothing"},
	{
		Stop: StopPaused, Act: FixHost, Severity: SeverityWarning, Part: "paused", Told: true, Runbook: "GitopsAgentPausedTooLong",
		Title: "The agent is paused", Sentence: "a person on the agent's host paused it: it observes and plans, but writes nothing to the cluster", Remedy: Resume,
	},
	{
		Stop: StopJournal, Act: FixHost, Severity: SeverityError, Part: "journal", Told: true, Runbook: "GitopsAgentJournalDamaged",
		Title: "The journal cannot be written, so the agent does not write to the cluster", Sentence: "the agent cannot write its journal",
	},
	{
		Stop: StopNotReady, Act: FixCluster, Severity: SeverityError, Part: "cluster", Told: true, Runbook: "GitopsAgentProxmoxUnusable",
		Title: "The cluster cannot be written to", Sentence: "the cluster has no quorum, or does not answer", Remedy: AwaitCluster,
	},
	{
		Stop: StopUnverified, Act: FixHost, Severity: SeverityError, Part: "revision", Runbook: "GitopsAgentRevisionUnverified",
		Title: "The accepted revision no longer verifies", Sentence: "the accepted revision no longer verifies", Remedy: CheckTrust,
	},
	{
		Stop: StopUnchecked, Act: Wait, Severity: SeverityWarning, Part: "revision",
		Title: "It is not known yet which revision is in force", Sentence: "the floor in the cluster was not read yet", Remedy: AwaitFloor,
	},
	{
		Stop: StopPolicy, Act: FixHost, Severity: SeverityError, Part: "policy", Runbook: "GitopsAgentRevisionUnverified",
		Title: "The trust policy cannot be read, so the agent does not write to the cluster", Sentence: "the trusted root, or another part of the policy, cannot be read", Remedy: CheckTrustFiles,
	},
	{
		Stop: StopSuperseded, Act: FixHost, Severity: SeverityError, Part: "writes", Runbook: "GitopsAgentTwoAgents",
		Title: "Another agent has claimed this cluster, so this agent does not write to it", Sentence: "another agent has claimed the cluster",
	},
	{
		Stop: StopUnclaimed, Act: FixHost, Severity: SeverityError, Part: "writes", Runbook: "GitopsAgentClusterNotClaimed",
		Title: "The agent could not claim the cluster, so it does not write to it", Sentence: "the agent could not claim the cluster",
	},
	{
		Stop: StopStateDirectory, Act: FixHost, Severity: SeverityError, Part: "writes", Runbook: "GitopsAgentStateDirectoryLost",
		Title: "The state directory was removed or replaced, so the agent does not write to the cluster", Sentence: "the state directory was removed or replaced while the agent runs", Remedy: RestoreStateDirectory,
	},
	{Stop: StopStandby, Act: Wait, Severity: SeverityInfo, Part: "standby", Told: true, Title: "Standby: another agent leads", Sentence: "another agent leads"},
	{Stop: StopClosing, Act: Wait, Severity: SeverityProgress, Title: "The agent is stopping", Sentence: "the agent is stopping"},
}
