package gate

// WriteStop is the reason why the agent does not write to the cluster. It is a label of metrics.
type WriteStop string

// Reasons not to write. WritesAllowed means that the agent may write.
const (
	WritesAllowed  WriteStop = "allowed"
	StopNoRevision WriteStop = "no-revision" // no revision was accepted yet
	StopDryRun     WriteStop = "dry-run"
	StopJournal    WriteStop = "journal"    // the agent cannot write its journal
	StopPaused     WriteStop = "paused"     // a person on the agent's host paused it
	StopNotReady   WriteStop = "cluster"    // no quorum, or no answer
	StopUnverified WriteStop = "unverified" // the accepted revision no longer verifies
	StopUnchecked  WriteStop = "unchecked"  // which revision is in force is unknown: the floor in the cluster was not read yet
	StopPolicy     WriteStop = "policy"     // the trusted root, or another part of the policy, cannot be read
	StopClosing    WriteStop = "stopping"
	StopStandby    WriteStop = "standby" // another agent leads

	StopSuperseded     WriteStop = "superseded"      // another agent has claimed the cluster
	StopUnclaimed      WriteStop = "unclaimed"       // the agent could not claim the cluster
	StopStateDirectory WriteStop = "state-directory" // the state directory was removed or replaced while the agent runs
)

// WriteStops lists every reason, for metrics that start at zero.
func WriteStops() []WriteStop {
	return []WriteStop{
		WritesAllowed, StopNoRevision, StopDryRun, StopPaused, StopJournal, StopNotReady, StopUnverified, StopUnchecked, StopPolicy, StopSuperseded, StopUnclaimed,
		StopStateDirectory, StopStandby, StopClosing,
	}
}
