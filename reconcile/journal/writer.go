package journal

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// write is the one goroutine that touches the disk after Open. Requests that wait while it syncs become the next commit.
func (j *Journal) write() {
	defer close(j.stopped)
	var over *request // did not fit into the commit before
	for {
		first := over
		if first == nil {
			select {
			case first = <-j.requests:
			case <-j.closing:
				return
			}
		}
		var batch []*request
		batch, over = j.gather(first)
		j.commit(batch)
	}
}

// gather adds to first what is waiting, up to the size of one commit. It gives way to the callers that the commit before
// released for as long as they have more to say: an fsync shared costs less than an fsync soon.
func (j *Journal) gather(first *request) (batch []*request, over *request) {
	batch = []*request{first}
	size := first.size
	for seen := 0; seen < len(batch); {
		seen = len(batch)
		runtime.Gosched()
		for waiting := true; waiting; {
			select {
			case r := <-j.requests:
				if size += r.size; size > maxCall {
					return batch, r
				}
				batch = append(batch, r)
			default:
				waiting = false
			}
		}
	}
	return batch, nil
}

// commit writes one frame, syncs it, and only then shows its records in the state and answers those who wait.
func (j *Journal) commit(batch []*request) {
	if j.failed != nil { // only this goroutine sets it
		for _, req := range batch {
			req.done <- fmt.Errorf("journal takes no records: %w", j.failed)
		}
		return
	}
	taken, f, bodies := j.stage(batch)
	if len(bodies) == 0 {
		return
	}
	start := time.Now()
	err := j.put(f)
	took := Sync{Records: len(bodies), Bytes: int(f.size()), Duration: time.Since(start), Err: err}
	if err != nil {
		j.fail(err)
	} else {
		j.publish(f, bodies)
	}
	for _, req := range taken {
		req.done <- err
	}
	if j.opts.OnSync != nil {
		j.opts.OnSync(took)
	}
	if j.size >= j.opts.SegmentSize { // never after a failure: the commit before would have rotated
		j.rotate()
	}
}

// stage makes a frame of the requests that the journal admits and answers the others.
func (j *Journal) stage(batch []*request) (taken []*request, f frame, bodies []Body) {
	var elements []encoded
	for _, req := range batch {
		if err := j.admission.admit(req.bodies); err != nil {
			req.done <- err
			continue
		}
		taken = append(taken, req)
		bodies = append(bodies, req.bodies...)
		elements = append(elements, req.encoded...)
	}
	f = frame{
		seq:     j.chain.next,
		time:    time.Now().UnixNano(),
		count:   len(bodies),
		payload: payloadOf(elements),
	}
	return taken, f.after(j.chain.link), bodies
}

func (j *Journal) put(f frame) error {
	if _, err := j.active.WriteAt(f.append(make([]byte, 0, f.size())), j.size); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := j.active.Sync(); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	return nil
}

func (j *Journal) publish(f frame, bodies []Body) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range f.number(bodies) {
		j.fold.add(r)
	}
	j.size += f.size()
	j.chain.link = f.link
	j.chain.next += uint64(len(bodies))
	j.stored += len(bodies)
}

func (j *Journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = err
}

// rotate begins the next segment and compacts when enough of them are full. The commit that filled the segment is durable
// already: what fails here stops the journal but takes nothing back.
func (j *Journal) rotate() {
	full := j.active
	if err := j.begin(); err != nil {
		j.fail(fmt.Errorf("begin segment: %w", err))
		return
	}
	if err := full.Close(); err != nil {
		j.fail(fmt.Errorf("close segment: %w", err))
		return
	}
	j.sealed++
	if j.sealed < j.opts.CompactAfter {
		return
	}
	start := time.Now()
	done, err := j.compact(start)
	done.Duration, done.Err = time.Since(start), err
	if doubtful(err) {
		j.fail(err)
	}
	if j.opts.OnCompact != nil {
		j.opts.OnCompact(done)
	}
}

// doubtful says whether a compaction failed in a way that leaves the directory in doubt. One that merely found no room
// left everything as it was.
func doubtful(err error) bool {
	install, damage := installError{}, (*DamageError)(nil)
	return errors.As(err, &install) || errors.As(err, &damage)
}
