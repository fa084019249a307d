package effect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Guest is a guest whose restore points are computed.
type Guest struct {
	VMID int
	Pool string
}

// Backups are the backup jobs of a cluster, by id, as their keys and texts.
type Backups map[string]map[string]string

// weeks is how long jobs run before and after a change.
const weeks = 3

// RestorePoints returns the restore points of a guest, as "storage time", when some jobs have run for three weeks, and then others for three weeks. The schedules hourly, daily and sat are
// known; a job with another one never runs. A guest may be in another pool afterwards.
//
// Source: PVE::VZDump exec_backup_task and get_included_guests; PVE::Storage prune_mark_backup_group.
func RestorePoints(before Backups, as Guest, after Backups, then Guest) map[string]bool {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	kept := map[string][]time.Time{} // the newest first
	jobs, of := before, as
	for hour := range 2 * weeks * 7 * 24 {
		if hour == weeks*7*24 {
			jobs, of = after, then
		}
		now := begin.Add(time.Duration(hour) * time.Hour)
		for i, id := range slices.Sorted(maps.Keys(jobs)) {
			if job := jobs[id]; comesAt(job["schedule"], now) && backsUp(job, of) {
				run(kept, job, now.Add(time.Duration(i)*time.Second))
			}
		}
	}
	points := map[string]bool{}
	for storage, times := range kept {
		for _, at := range times {
			points[storage+" "+at.Format("2006-01-02 15h")] = true
		}
	}
	return points
}

func comesAt(schedule string, now time.Time) bool {
	midnight := now.Hour() == 0
	return schedule == "hourly" || schedule == "daily" && midnight || schedule == "sat" && midnight && now.Weekday() == time.Saturday
}

// backsUp reports whether a job makes a backup of a guest that ends. At 1 KiB/s none does.
func backsUp(job map[string]string, of Guest) bool {
	listed := func(key string) bool {
		return slices.Contains(strings.Split(job[key], ","), strconv.Itoa(of.VMID))
	}
	switch {
	case job["enabled"] == "0", job["bwlimit"] == "1":
		return false
	case job["pool"] != "":
		return job["pool"] == of.Pool
	case job["vmid"] != "":
		return listed("vmid")
	}
	return job["all"] == "1" && !listed("exclude")
}

// run makes a backup and prunes the backups of the guest on the storage.
func run(kept map[string][]time.Time, job map[string]string, now time.Time) {
	storage, limit := job["storage"], 0
	if storage == "" {
		storage = "local"
	}
	keep := map[string]int{}
	for part := range strings.SplitSeq(job["prune-backups"], ",") {
		var n int
		name, text, _ := strings.Cut(part, "=")
		_, _ = fmt.Sscan(text, &n)
		keep[name] = n
		limit += n
	}
	keepsAll := keep["keep-all"] > 0 || limit == 0
	if job["remove"] == "0" && !keepsAll && len(kept[storage]) >= limit {
		return
	}
	kept[storage] = append([]time.Time{now}, kept[storage]...)
	if job["remove"] == "0" || keepsAll {
		return
	}
	stays := map[time.Time]bool{}
	removed := map[time.Time]bool{}
	for _, rule := range []struct{ option, period string }{{"keep-last", time.DateTime}, {"keep-hourly", "2006-01-02 15"}, {"keep-daily", time.DateOnly}} {
		mark(kept[storage], keep[rule.option], rule.period, stays, removed)
	}
	kept[storage] = slices.DeleteFunc(kept[storage], func(at time.Time) bool { return !stays[at] })
}

// mark keeps the newest backup of each of so many periods that no earlier rule has kept a backup of.
func mark(backups []time.Time, count int, period string, stays, removed map[time.Time]bool) {
	if count == 0 {
		return
	}
	included, fresh := map[string]bool{}, map[string]bool{}
	for _, at := range backups {
		if stays[at] {
			included[at.Format(period)] = true
		}
	}
	for _, at := range backups {
		switch name := at.Format(period); {
		case stays[at] || removed[at] || included[name]:
		case fresh[name]:
			removed[at] = true
		case len(fresh) >= count:
			return
		default:
			fresh[name], stays[at] = true, true
		}
	}
}
