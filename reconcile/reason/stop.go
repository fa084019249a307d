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

// Stops lists every reason, for metrics that start at zero.
func Stops() []Stop {
	return []Stop{
		WritesAllowed, StopNoRevision, StopDryRun, StopPaused, StopJournal, StopNotReady, StopUnverified, StopUnchecked, StopPolicy, StopSuperseded, StopUnclaimed,
		StopStateDirectory, StopStandby, StopClosing,
	}
}
