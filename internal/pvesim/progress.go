package pvesim

import (
	"fmt"
	"math"
	"time"
)

// copyStep is the number of bytes that qemu-img copies between two reports.
const copyStep = 2 * mib

// copied returns the number of bytes that a copy reads: what the guest has written. Of an image with compressed clusters it is the file without the five
// clusters of its header and tables.
func (v *Volume) copied() int64 {
	const clusters = 5 * 64 * kib
	switch {
	case v.Data > 0:
		return v.Data
	case v.Kind == "import" && v.Format == "qcow2" && v.Stored > clusters:
		return v.Stored - clusters
	}
	return 0
}

// convertLog returns the lines that Proxmox makes of the progress of qemu-img: one for each percent at most, counted in the bytes that hold data but
// printed as a share of the whole disk, and the last one twice.
func convertLog(v *Volume) []string {
	data := max(v.copied(), 1)
	out := []string{transferred(v.Size, 0)}
	last := 0.0
	for done := int64(copyStep); done < data; done += copyStep {
		if percent := 100 * float64(done) / float64(data); percent > last+1 {
			out = append(out, transferred(v.Size, percent))
			last = percent
		}
	}
	end := transferred(v.Size, 100)
	return append(out, end, end)
}

func transferred(size int64, percent float64) string {
	percent = math.Round(percent*100) / 100 // as qemu-img prints it
	return fmt.Sprintf("transferred %s of %s (%.2f%%)", renderBytes(percent*float64(size)/100), renderBytes(float64(size)), percent)
}

// renderBytes prints a number of bytes as Proxmox does in its logs.
func renderBytes(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 1024 {
			return fmt.Sprintf("%.1f %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%.1f TiB", n)
}

// hasCopyLog reports whether a copy of the drive is done by a program that shows its progress. Cloud-init images are generated anew.
func (d drive) hasCopyLog() bool { return !d.isCloudInit() && d.slot != "efidisk0" }

// logMirror logs the copy of a disk of a running VM, which QEMU does itself. The state is locked.
func (t *task) logMirror(slot string, v *Volume) {
	job, size := "mirror-"+slot, renderBytes(float64(v.Size))
	t.printf("drive mirror is starting for drive-%s", slot)
	t.printf("%s: transferred %s of %s (50.00%%) in 0s", job, renderBytes(float64(v.Size)/2), size)
	t.printf("%s: transferred %s of %s (100.00%%) in %ds, ready", job, size, size, int(t.duration/time.Second))
	t.printf("all 'mirror' jobs are ready")
	t.printf("%s: Completing block job...", job)
	t.printf("%s: Completed successfully.", job)
	t.printf("%s: mirror-job finished", job)
}

// logCopy logs the whole copy of a disk. The state is locked.
func (t *task) logCopy(g *guest, d drive, v *Volume) {
	switch {
	case !d.hasCopyLog():
	case g.running:
		t.logMirror(d.slot, v)
	default:
		for _, l := range convertLog(v) {
			t.printf("%s", l)
		}
	}
}

// transfer copies the data of a disk in a share of the task's duration and logs the progress meanwhile. The state is not locked.
func (t *task) transfer(src, dst *Volume, share float64) error {
	lines := convertLog(src)
	t.logLine("%s", lines[0])
	for _, l := range lines[1:] {
		if err := t.sleepShare(share / float64(len(lines)-1)); err != nil {
			if err == errInterrupted { //nolint:errorlint // sleepShare wraps nothing
				return t.copyInterrupted(src, dst)
			}
			return err
		}
		t.logLine("%s", l)
	}
	return nil
}

// copyInterrupted returns the error of the program that copies when its task is aborted.
func (t *task) copyInterrupted(src, dst *Volume) error {
	s := t.sim
	s.mu.Lock()
	defer s.mu.Unlock()
	return apiErrorf("copy failed: command '/usr/bin/qemu-img convert -p -n -f %s -O %s %s zeroinit:%s' failed: interrupted by signal",
		src.Format, dst.Format, s.pathOf(src.ID), s.pathOf(dst.ID))
}
