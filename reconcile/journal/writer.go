package journal

import (
	"fmt"
	"runtime"
	"time"
)

// write is the only goroutine that uses the disk after Open. Requests that arrive while it syncs become the next commit.
func (j *Journal) write() {
	defer close(j.stopped)
	var leftover *request // did not fit into the commit before
	for {
		first := leftover
		if first == nil {
			select {
			case first = <-j.requests:
			case <-j.closing:
				return
			}
		}
		var batch []*request
		batch, leftover = j.collect(first)
		j.commit(batch)
	}
}

// collect adds the waiting requests to first, up to the size of one shared commit. It yields to the callers that the commit before
// released, as long as they send more requests: sharing an fsync costs less than starting the fsync earlier.
func (j *Journal) collect(first *request) (batch []*request, leftover *request) {
	batch = []*request{first}
	size := first.size
	for seen := 0; seen < len(batch); {
		seen = len(batch)
		runtime.Gosched()
		for waiting := true; waiting; {
			select {
			case r := <-j.requests:
				if size += r.size; size > sharedCommit {
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

// commit writes one frame and syncs it. Only then does it fold the records into the state and answer the callers.
func (j *Journal) commit(batch []*request) {
	refusal := j.failed // only this goroutine sets it
	if refusal == nil {
		refusal = j.store.takesCommits()
	}
	if refusal != nil {
		for _, req := range batch {
			req.done <- fmt.Errorf("journal takes no records: %w", refusal)
		}
		return
	}
	admitted, f, bodies := j.buildFrame(batch)
	if len(bodies) == 0 {
		return
	}
	start := time.Now()
	err := j.store.append(j.chain, f)
	result := Sync{Records: len(bodies), Bytes: int(f.size()), Duration: time.Since(start), Err: err}
	if err != nil {
		j.fail(err)
	} else {
		j.publish(f, bodies)
	}
	for _, req := range admitted {
		req.done <- err
	}
	if j.opts.OnSync != nil {
		j.opts.OnSync(result)
	}
	if err == nil {
		j.tidy()
	}
}

// buildFrame makes a frame of the requests that the journal admits and answers the other requests.
func (j *Journal) buildFrame(batch []*request) (admitted []*request, f frame, bodies []Body) {
	var elements []element
	for _, req := range batch {
		if err := j.admission.admit(req.bodies); err != nil {
			req.done <- err
			continue
		}
		admitted = append(admitted, req)
		bodies = append(bodies, req.bodies...)
		elements = append(elements, req.elements...)
	}
	f = frame{
		seq:     j.chain.next,
		time:    time.Now().UnixNano(),
		count:   len(bodies),
		payload: payloadOf(elements),
	}
	return admitted, f.after(j.chain.link), bodies
}

func (j *Journal) publish(f frame, bodies []Body) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range f.number(bodies) {
		j.fold.add(r)
		j.opts.OnRecord(r)
	}
	j.chain.link = f.link
	j.chain.next += uint64(len(bodies))
	j.stored += len(bodies)
}

func (j *Journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = err
}

// tidy lets the store end a segment, and compacts if the store is full. A failure here stops the journal but does not undo the commit before.
func (j *Journal) tidy() {
	full, err := j.store.rotate(j.chain)
	if err != nil {
		j.fail(err)
	}
	if !full {
		return
	}
	start := time.Now()
	done, err := j.compact(start)
	done.Duration, done.Err = time.Since(start), err
	if leavesDoubt(err) {
		j.fail(err)
	}
	if j.opts.OnCompact != nil {
		j.opts.OnCompact(done)
	}
}
