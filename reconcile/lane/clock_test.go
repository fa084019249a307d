package lane

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
)

// TestSettleIgnoresStepsOfTheClock settles a step of every operation whose call got no reply, while the clock of the host, that of the node, or both
// step forward or back after the step began. In the same process and after a start of the agent, the outcome is the one without the step.
func TestSettleIgnoresStepsOfTheClock(t *testing.T) {
	own := "UPID:pve1:0000BEEF:00AA0002:%:own:201:root@pam!agent:"
	old := "UPID:pve1:0000BEEF:00AA0001:%:old:201:root@pam!agent:"
	steps := []time.Duration{15 * time.Minute, -15 * time.Minute, 24 * time.Hour, -24 * time.Hour}
	there := map[int]bool{201: true}
	for _, op := range cluster.Ops() {
		for _, open := range []time.Duration{time.Minute, 9 * time.Minute, 11 * time.Minute} {
			for name, ran := range map[string]bool{"/ran": true, "": false} {
				for where, here := range map[string]bool{"/here": true, "/restarted": false} {
					outcome := func(host, node time.Duration) (result journal.Result, early bool) {
						synctest.Test(t, func(t *testing.T) {
							began := time.Now()
							w := &Worker{started: began}
							if here {
								w.noteBegin("s")
							}
							step := openStep(op, 0, 1, "")
							step.Time = time.Unix(0, began.Add(-host).UnixNano()) // as read now, after the step of the host's clock
							if op.LeavesTask() {
								step.Detail[detailTasks] = processOf(old)
							}
							tasks := []cluster.Task{{UPID: old, Outcome: cluster.TaskSucceeded, Start: began.Add(-time.Hour)}}
							if ran {
								tasks = append(tasks, cluster.Task{UPID: own, Outcome: cluster.TaskSucceeded, Start: began.Add(time.Second + node)})
							}
							time.Sleep(open)
							reader := &fixture.FakeReader{Answers: fixture.Answers{Taken: there, RunState: "paused", TaskList: tasks}}
							if op == cluster.OpCreate {
								reader.Taken = nil
							}
							var err error
							result, err = settle(t.Context(), reader, step, fixture.Owned201(), w.doubtAbout(step))
							early = errors.Is(err, cluster.ErrUnanswered)
						})
						return result, early
					}
					t.Run(string(op)+name+where+"/"+open.String(), func(t *testing.T) {
						want, wantEarly := outcome(0, 0)
						for _, by := range steps {
							for _, both := range []time.Duration{0, by} {
								if got, early := outcome(by, both); got != want || early != wantEarly {
									t.Errorf("clocks step by %s and %s: got %q, early %t, want %q, %t", by, both, got, early, want, wantEarly)
								}
							}
							if got, early := outcome(0, by); got != want || early != wantEarly {
								t.Errorf("the node's clock steps by %s: got %q, early %t, want %q, %t", by, got, early, want, wantEarly)
							}
						}
					})
				}
			}
		}
	}
}

// TestOnlyRefusedCallsAreRepeated settles a step without an effect at once after a start of the agent, if Proxmox refuses a late call of it.
func TestOnlyRefusedCallsAreRepeated(t *testing.T) {
	for _, op := range cluster.Ops() {
		for _, here := range []bool{true, false} {
			w := &Worker{started: time.Now()}
			if here {
				w.noteBegin("s")
			}
			want := !here && (op == cluster.OpCreate || op == cluster.OpStart || op == cluster.OpConfig || op == cluster.OpResize || op == cluster.OpMove || op == cluster.OpDownload || op == cluster.OpObjectAdd)
			if got := w.doubtAbout(openStep(op, 0, 1, "")).repeats; got != want {
				t.Errorf("%s, begun by this process %t: got repeated %t, want %t", op, here, got, want)
			}
			if got := w.doubtAbout(openStep(op, 1, 2, "u")).repeats; got {
				t.Errorf("%s of two calls: got it repeated, want it not", op)
			}
		}
	}
}
