package backupjob

import (
	"fmt"
	"strconv"

	"gitops-agent/reconcile/kind"
)

// setting is a key that decides whether the backups of a job are made, and what they contain, beside its times, its storage, its retention and the paths that it leaves out.
type setting struct {
	key      string
	isWeaker func(now, next string) bool // of two different texts
}

// settings are all keys that can starve a job. The others are about messages, notes and the format of the backups.
//
// Source: PVE::VZDump::Common get_confdesc.
var settings = []setting{
	{keyMode, func(now, next string) bool { return interruption[next] > interruption[now] }},
	{keyBandwidth, func(now, next string) bool {
		was, is := number(now, 0), number(next, 0)
		return is > 0 && (was == 0 || is < was)
	}},
	{keyLockWait, isLower(180)},
	{keyStopWait, isLower(10)},
	{keyPriority, func(now, next string) bool { return number(next, 7) > number(now, 7) }},
	{keyProtected, func(now, next string) bool { return (now == "1") != (next == "1") }}, // a storage limits how many it takes, and nothing protects the next ones without it
	{keyMissed, func(now, _ string) bool { return now == "1" }},
	{keyStandard, func(now, _ string) bool { return now == "0" }},
	{keyFleecing, func(_, next string) bool { return parseOptions(next)["enabled"] == "1" }}, // a backup fails if the storage of the images is full
	{keyPerformance, func(now, next string) bool {
		return isLower(1<<20)(parseOptions(now)["pbs-entries-max"], parseOptions(next)["pbs-entries-max"])
	}},
	{keyDetection, func(_, next string) bool { return next == "metadata" }}, // a file that changed and kept size and time is not read
}

const modeStop = "stop"

// interruption is how much of a guest's work a mode interrupts. Proxmox's default is snapshot.
var interruption = map[string]int{"": 0, "snapshot": 0, "suspend": 1, modeStop: 2}

// isLower returns the comparison of two numbers of which a lower one is weaker.
func isLower(byDefault int) func(now, next string) bool {
	return func(now, next string) bool { return number(next, byDefault) < number(now, byDefault) }
}

// number returns the number of a text, or the default of Proxmox.
func number(text string, byDefault int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return byDefault
	}
	return n
}

// leastBandwidth is the bandwidth limit, in KiB/s, below which a job does not count as cover: it reads less than 85 GiB in a day.
const leastBandwidth = 1024

// Starved returns why a job does not count as cover although it is enabled, "" if it counts. Such a job begins, and its backups fail, never end or never come.
func Starved(keys map[string]string) string {
	limit := number(keys[keyBandwidth], 0)
	switch {
	case !kind.IsYearly(keys[keySchedule]):
		return "its schedule does not come every year"
	case limit > 0 && limit < leastBandwidth:
		return fmt.Sprintf("its bandwidthLimit is below %d KiB/s", leastBandwidth)
	case keys[keyLockWait] == "0":
		return "its lockWait is 0, so that it fails while another job runs on the node"
	case keys[keyMode] == modeStop && keys[keyStopWait] == "0":
		return "it stops guests, and its stopWait is 0"
	case keys[keyPrune] == "0" && keys[keyRetention] != "" && keys[keyRetention] != keepsAll:
		return "it does not prune, so that it fails when it has reached its retention"
	}
	return ""
}
