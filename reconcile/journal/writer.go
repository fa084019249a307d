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

// gather adds to first what is waiting, up to the size of one commit.
func (j *Journal) gather(first *request) (batch []*request, over *request) {
	batch = []*request{first}
	size := first.size
	runtime.Gosched() // those whom the commit before has just released may have more to say
	for {
		select {
		case r := <-j.requests:
			if size += r.size; size > maxCall {
				return batch, r
			}
			batch = append(batch, r)
		default:
			return batch, nil
		}
	}
}

// commit writes one frame, syncs it, and only then shows its records in the state and answers those who wait.
func (j *Journal) commit(batch []*request) {
	if j.failed != nil { // only this goroutine sets it
		for _, req := range batch {
			req.done <- fmt.Errorf("journal takes no records: %w", j.failed)
		}
		return
	}
	taken, records := j.stage(batch)
	if len(records) == 0 {
		return
	}
	start := time.Now()
	payload, err := encodeCommit(records)
	f := nextFrame(j.chain.link, payload)
	if err == nil {
		err = j.put(f)
	}
	took := Sync{Records: len(records), Bytes: int(f.size()), Duration: time.Since(start), Err: err}
	if err != nil {
		j.fail(err)
	} else {
		j.publish(f, records)
	}
	for _, req := range taken {
		req.done <- err
	}
	if j.opts.OnSync != nil {
		j.opts.OnSync(took)
	}
	if err == nil && j.size >= j.opts.SegmentSize {
		j.rotate()
	}
}

// stage numbers the records of the requests that the journal admits and answers the others.
func (j *Journal) stage(batch []*request) (taken []*request, records []Record) {
	now := time.Now().UTC().Round(0) // without the monotonic reading, as it will be read
	seq := j.chain.next
	for _, req := range batch {
		if err := j.admission.admit(req.bodies); err != nil {
			req.done <- err
			continue
		}
		taken = append(taken, req)
		for _, b := range req.bodies {
			records = append(records, Record{Seq: seq, Time: now, Body: b})
			seq++
		}
	}
	return taken, records
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

func (j *Journal) publish(f frame, records []Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range records {
		j.fold.add(r)
	}
	j.size += f.size()
	j.chain.link = f.link
	j.chain.next += uint64(len(records))
	j.stored += len(records)
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
