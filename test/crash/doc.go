// Package crash kills the real agent while it works, and counts at the simulator what happened to the guests.
//
// Each seed is a world: the simulator, the agent, and for some time a second agent on a copy of the first one's state directory are processes
// of their own, and the agent fetches a git repository. A round pushes random changes, and then kills, stops or suspends the agent again and again:
// at random instants, at the n-th call before or after it acted, between the reply and the next record, and at the n-th write of the journal. Calls
// of a killed agent act after the next one has started, revisions arrive while a read before a call hangs, and the agent starts without quorum, with a
// node that fails, or with a forge that hangs. Calls and tasks fail, and people edit, start and stop guests meanwhile. Then the agent must converge, and each effect that the changes ask for must have
// happened exactly once, by the simulator's own count; nothing else may have happened. The journal is checked before every start.
//
// # The clock
//
// Some outcomes are known only after minutes. The programs are built with a changed standard library (build_test.go): time.Now, time.Since and
// time.Until add an offset, which each process reads from a file that it maps into its memory. So the harness lets ten minutes pass in an instant, for
// all processes or, as a fault, for the wall clock of one. The sources of the agent are unchanged and have no hook for this.
//
// # Types, in order of use
//
//   - world is what belongs to one seed: processes, repository, guests, and the effects that must have happened.
//   - change is one thing that a person does: a manifest, an edit by hand, a secret. It says which effects must follow.
//   - thing is an object that is no guest. The calls that make, change and remove it are counted like the effects on guests.
//   - scheduleChanges are what a person does with schedules of snapshots, and the weeks that pass.
//   - moment is when and how the agent is interrupted.
//   - fault is what goes wrong with a call or a task.
//   - forge serves the repository, and may hang. service shows whether a guest is ready.
//   - mutation removes a protection from the agent, to show that the harness finds what goes wrong then.
//
// A seed repeats its choices. It does not repeat the instants, which depend on how processes are scheduled. A failing seed prints the command that
// runs it again, what was done, and the end of the agents' logs.
//
// Start with crash_test.go and world_test.go. ../README.md describes how to run the tests, docs/internals/proof.md what was counted.
package crash
