package pvesim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	errInterrupted = errors.New("received interrupt")
	errClosed      = errors.New("simulator closed")
	errKilled      = errors.New("unexpected status") // the worker was killed; its log has no last line
)

// task is one worker. The Sim's lock guards the fields that change.
type task struct {
	sim       *Sim
	upid      upid
	name      string // the UPID's text
	vmid      int
	abort     chan struct{}
	abortOnce sync.Once
	fault     *Fault
	phase     int
	duration  time.Duration
	killed    bool // the worker was killed; set before abort is closed

	ended time.Time // zero while running
	exit  string
	log   []string
}

// start starts a task for the call and returns its UPID. The id of a task is usually the vmid.
func (c *call) start(typ string, vmid int, body func(*task) error) (reply, error) {
	return c.startAs(typ, itoa(vmid), vmid, body)
}

func (c *call) startAs(typ, id string, vmid int, body func(*task) error) (reply, error) {
	if c.fault != nil && c.fault.Kind == LostWorker {
		return reply{}, apiErrorf("got no worker upid - start worker failed")
	}
	t := c.sim.spawn(c.node(), typ, id, vmid, c.caller.ID, c.fault, body)
	return dataReply(jsonString(t.name))
}

// spawn starts a task. The state must not be locked.
func (s *Sim) spawn(node, typ, id string, vmid int, user string, f *Fault, body func(*task) error) *task {
	long, ok := s.opts.TaskTimes[typ]
	if !ok {
		long = s.opts.TaskTime
	}
	t := &task{sim: s, vmid: vmid, abort: make(chan struct{}), fault: f, duration: long}
	s.mu.Lock()
	t.upid = s.newUPID(node, typ, id, user)
	t.name = t.upid.String()
	s.tasks = append(s.tasks, t)
	s.expireTasks(node)
	s.taskIndex[t.name] = t
	s.mu.Unlock()
	if !s.goTracked(func() { t.run(body) }) {
		_ = s.locked(func() error { t.finish(errClosed); return nil })
	}
	return t
}

// expireTasks removes the oldest ended tasks of a node from the index, beyond Options.TaskArchive. The state is locked.
func (s *Sim) expireTasks(node string) {
	kept := 0
	for _, t := range slices.Backward(s.tasks) {
		if t.upid.node != node || t.ended.IsZero() {
			continue
		}
		if kept++; kept > s.opts.TaskArchive {
			if s.taskIndex[t.name] == nil {
				return // as are all older tasks
			}
			delete(s.taskIndex, t.name)
		}
	}
}

func (t *task) run(body func(*task) error) {
	t.sim.mu.Lock()
	waits := t.sim.untilMembership(t.upid.node)
	t.sim.mu.Unlock()
	t.sim.wait(waits)
	err := body(t)
	t.sim.mu.Lock()
	defer t.sim.mu.Unlock()
	t.finish(err)
}

// finish sets the exit status and writes the last line of the log. The state is locked.
func (t *task) finish(err error) {
	t.ended = time.Now()
	warnings := 0
	for _, l := range t.log {
		if strings.HasPrefix(l, "WARN: ") {
			warnings++
		}
	}
	switch {
	case workerDied(err):
		t.exit = errKilled.Error()
		return
	case err != nil:
		t.exit = firstLine(err.Error())
		t.log = append(t.log, "TASK ERROR: "+t.exit)
	case warnings > 0:
		t.exit = fmt.Sprintf("WARNINGS: %d", warnings)
		t.log = append(t.log, "TASK "+t.exit)
	default:
		t.exit = "OK"
		t.log = append(t.log, "TASK OK")
	}
}

// work is one phase of a task. It waits for the share of the task's duration; then an abort or the fault of the phase takes effect. The state
// is not locked.
func (t *task) work(share float64) error {
	n := t.phase
	t.phase++
	if err := t.sleepShare(share); err != nil {
		return err
	}
	return t.applyFault(n)
}

// sleepShare waits for a share of the task's duration.
func (t *task) sleepShare(share float64) error {
	return t.sleep(time.Duration(share * float64(t.duration)))
}

// sleep waits, until the worker is interrupted at most.
func (t *task) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.abort:
		return t.interrupted()
	case <-t.sim.closed:
		return errClosed
	}
	return nil
}

// kill ends the worker at once: it changes nothing more and writes no last line to its log. The state is locked.
func (t *task) kill() {
	t.abortOnce.Do(func() {
		t.killed = true
		close(t.abort)
	})
}

// interrupted returns the error of a task whose abort channel is closed.
func (t *task) interrupted() error {
	if t.killed {
		return errKilled
	}
	return errInterrupted
}

// applyFault applies the fault of the task if the fault has this phase.
func (t *task) applyFault(phase int) error {
	if t.fault == nil || t.fault.Phase != phase {
		return nil
	}
	switch t.fault.Kind {
	case TaskFails:
		return apiErrorf("%s", t.fault.Text)
	case TaskKilled:
		return errKilled
	case TaskNeverEnds:
		select {
		case <-t.abort:
			return t.interrupted()
		case <-t.sim.closed:
			return errClosed
		}
	case Latency, ProxyStatus, ErrorText, DropBefore, DropAfter, HoldBefore, HoldAfter, TruncatedBody, InvalidJSON, Page, Unauthorized, LostWorker,
		EditBefore, CommentBefore, SlowCall, FailMidway, ListRace, StaysDown:
	}
	return nil
}

// printf adds a line to the log. The state is locked.
func (t *task) printf(format string, args ...any) {
	t.log = append(t.log, fmt.Sprintf(format, args...))
}

// logLine adds a line to the log. The state is not locked.
func (t *task) logLine(format string, args ...any) {
	t.sim.mu.Lock()
	defer t.sim.mu.Unlock()
	t.printf(format, args...)
}

// workerDied reports whether the worker is gone, so that it cleans up nothing.
func workerDied(err error) bool { return errors.Is(err, errKilled) || errors.Is(err, errClosed) }

// removePartialGuest removes the guest and the volumes of a failed create or clone and returns the cause after the prefix. It removes nothing
// if the worker died or the cluster has no quorum.
func (t *task) removePartialGuest(prefix string, vmid int, made []string, err error) error {
	if workerDied(err) {
		return err
	}
	return t.locked(func() error {
		if !t.sim.isQuorate(t.upid.node) {
			return apiErrorf("%s%s", prefix, firstLine(err.Error())) // without quorum nothing can be removed
		}
		t.sim.freeAllocated(made)
		delete(t.sim.guests, vmid)
		return apiErrorf("%s%s", prefix, firstLine(err.Error()))
	})
}

// commitGuest runs the last step of a task that creates a guest, with the state locked. Without quorum the guest stays partly created.
func (t *task) commitGuest(vmid int, f func() error) error {
	return t.locked(func() error {
		if g := t.sim.guests[vmid]; g != nil {
			if err := t.sim.checkWritable(g); err != nil {
				return err
			}
		}
		return f()
	})
}

// locked runs f with the state locked, unless the worker has been killed.
func (t *task) locked(f func() error) error {
	return t.sim.locked(func() error {
		if t.killed {
			return errKilled
		}
		return f()
	})
}

// withGuestLock runs f while the task holds the guest's lock. The state is not locked in f.
func (t *task) withGuestLock(kind Kind, vmid int, f func() error) error {
	waited := false
	release, err := t.sim.acquire(kind, vmid, t.abort, func() {
		waited = true
		t.logLine("trying to acquire lock...")
	})
	if errors.Is(err, errInterrupted) {
		return t.interrupted()
	}
	if err != nil {
		return err
	}
	defer release()
	if err := t.locked(func() error { return t.registerWriter(vmid, waited) }); err != nil {
		return err
	}
	err = f()
	_ = t.sim.locked(func() error { delete(t.sim.writers, vmid); return nil })
	return err
}

// registerWriter records the task as the only writer of the guest. The state is locked.
func (t *task) registerWriter(vmid int, waited bool) error {
	if waited {
		t.printf(" OK")
	}
	if w := t.sim.writers[vmid]; w != "" {
		t.sim.addViolation("guest %d has two writers: %s and %s", vmid, w, t.name)
	}
	t.sim.writers[vmid] = t.name
	return nil
}

// runOnGuest is the common sequence of a task: it takes the guest's lock, waits for the task's duration and calls act with the state locked.
func (t *task) runOnGuest(kind Kind, vmid int, act func() error) error {
	return t.withGuestLock(kind, vmid, func() error {
		if err := t.work(1); err != nil {
			return err
		}
		return t.locked(func() error {
			if g := t.sim.guests[vmid]; g != nil && !tasksWithoutWrites[t.upid.typ] {
				if err := t.sim.checkWritable(g); err != nil {
					return err
				}
			}
			return act()
		})
	})
}

// tasksWithoutWrites are the types of tasks that do not write the config file of their guest, so that they work without quorum.
var tasksWithoutWrites = map[string]bool{
	"qmstop": true, "qmshutdown": true, "qmreset": true, "qmpause": true, "qmresume": true, "vzstop": true, "vzshutdown": true, "vzsuspend": true,
	"vzresume": true,
}

func typePrefix(kind Kind) string {
	if kind == LXC {
		return "vz"
	}
	return "qm"
}
