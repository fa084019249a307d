package journal

import (
	"fmt"
	"io"
)

// begin starts the segment for the chain's next record. A large segment has version 2.
func (j *Journal) begin(large bool) error {
	h := header{role: roleSegment, chain: j.chain, large: large}
	f, err := writeFile(j.opts.disk, segmentName(j.chain.next), func(w io.WriterAt) error {
		_, err := w.WriteAt(h.bytes(), 0)
		return err
	})
	if err != nil {
		return err
	}
	j.active, j.large, j.size = f, large, headerSize
	return nil
}

// seal closes the active segment and starts the next one. If the active segment is empty, the next one has its name and replaces it.
func (j *Journal) seal(large bool) error {
	full, empty := j.active, j.size == headerSize
	if err := j.begin(large); err != nil {
		return fmt.Errorf("begin segment: %w", err)
	}
	if err := full.Close(); err != nil {
		return fmt.Errorf("close segment: %w", err)
	}
	if !empty {
		j.sealed++
	}
	return nil
}

// put writes one frame and syncs it. A frame that exceeds the limit of version 1 needs a segment of version 2: older releases then
// report a newer format. Without the new version they would take the frame for a torn commit and cut it.
func (j *Journal) put(f frame) error {
	if !j.large && len(f.payload) > j.opts.largePayload {
		if err := j.seal(true); err != nil {
			return err
		}
	}
	if _, err := j.active.WriteAt(f.append(make([]byte, 0, f.size())), j.size); err != nil {
		return fmt.Errorf("write segment: %w", err)
	}
	if err := j.active.Sync(); err != nil {
		return fmt.Errorf("sync segment: %w", err)
	}
	return nil
}
