package pvesim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// logMask replaces what a line of a task log says about the recorder's disks, files and clock.
type logMask struct {
	find *regexp.Regexp
	with string
}

var logMasks = []logMask{
	{regexp.MustCompile(`Total bytes read: \d+ \([^)]*\)`), "Total bytes read: N"},
	{regexp.MustCompile(`ssh_host_\w+_key`), "ssh_host_TYPE_key"}, // in the order of a Perl hash
	{regexp.MustCompile(`SHA256:[\w+/\\]+`), "SHA256:HASH"},
	{regexp.MustCompile(`: \d+/(\d+) files \([\d.]+% non-contiguous\), \d+/(\d+) blocks`), ": N/$1 files, N/$2 blocks"},
	{regexp.MustCompile(`"[\d.]+ MiB in \d+s"`), `"N MiB in Ns"`},
	{regexp.MustCompile(`in \d+s, saved [\d.]+ MiB`), "in Ns, saved N MiB"},
	{regexp.MustCompile(`transferred [\d.]+ \w+ of ([\d.]+ \w+) \([\d.]+%\) in \d+s"`), `transferred N of $1 in Ns"`},
	{regexp.MustCompile(`in \d+s, ready`), "in Ns, ready"},
	{regexp.MustCompile(`in \d+s, read: [\d.]+ \w+/s`), "in Ns, read: N/s"},
	{regexp.MustCompile(`in \d+ seconds \([\d.]+ \w+/s\)`), "in N seconds"},
	{regexp.MustCompile(`archive file size: \d+`), "archive file size: N"},
	{regexp.MustCompile(`(Backup (?:started|finished) at )[\d: -]+`), "${1}TIME"},
	{regexp.MustCompile(`(Finished Backup of VM \d+) \([\d:]+\)`), "$1"},
	{regexp.MustCompile(`CFG: size: \d+`), "CFG: size: N"},
	{regexp.MustCompile(`CTIME: [^"]+`), "CTIME: TIME"},
	{regexp.MustCompile(`vzdumptmp\d+`), "vzdumptmpN"},
	{regexp.MustCompile(`duration \d+ sec`), "duration N sec"},
	{regexp.MustCompile(`\.tmp_(dwnl|dcom)\.\d+`), ".tmp_$1.N"},
	{regexp.MustCompile(`"--[\d: -]+--  `), `"--TIME--  `},
	{regexp.MustCompile(`" +0K [. ]*100% [^"]*"`), `"0K 100%"`},
	{regexp.MustCompile(`"[\d-]{10} [\d:]{8} (ERROR|\()`), `"TIME $1`},
	{regexp.MustCompile(`\([\d.]+ [KMG]B/s\) - `), "(N/s) - "},
}

var (
	rsyncLine   = regexp.MustCompile(`"(?:Number of |Total (?:file|transferred|bytes) |Literal data|File list |sent |total size is)[^"]*"`)
	figure      = regexp.MustCompile(`\d[\d,.]*`)
	backupCall  = regexp.MustCompile(`(new backup job: vzdump \d+)((?: --[\w-]+ (?:'[^']*'|[^\s"']+))+)`)
	backupWords = regexp.MustCompile(`--[\w-]+ (?:'[^']*'|[^\s"']+)`)
)

// maskLog masks the lines of a log. Options of a command are sorted, since Proxmox prints them in the order of a Perl hash.
func maskLog(s string) string {
	for _, m := range logMasks {
		s = m.find.ReplaceAllString(s, m.with)
	}
	s = rsyncLine.ReplaceAllStringFunc(s, func(l string) string { return figure.ReplaceAllString(l, "N") })
	return backupCall.ReplaceAllStringFunc(s, func(l string) string {
		words := backupWords.FindAllString(l, -1)
		slices.Sort(words)
		return backupCall.FindStringSubmatch(l)[1] + " " + strings.Join(words, " ")
	})
}

// race is a group of entries about calls that the recorder sent in parallel. Which call gets which volume number depends on which of Proxmox's workers
// takes the guest's lock first. So the numbers of the simulator may be a permutation of the recorded ones, the same one in all replies of the group: each
// number that a call got in its log must be the one that the config shows for the call's disk.
type race struct {
	first, last string // file and number of the entries
	number      *regexp.Regexp
	recorded    map[string]string // by the simulator's number
}

// races returns the groups of a series.
func races(r renaming) []*race {
	return []*race{
		{first: "20/40", last: "20/80", number: regexp.MustCompile(`vm-` + itoa(r.vmid(151)) + `-disk-(\d+)`), recorded: map[string]string{}},
	}
}

// lastWrite matches the values of the last of twenty parallel writes that each set a description and the tag with the same number.
var lastWrite = regexp.MustCompile(`"description":"w(1?\d)"s (.*)"tags":"t(1?\d)"s`)

// anyLast returns a reply in which the last write is not told apart from the others. Values of two different writes stay as they are.
func anyLast(body string) string {
	m := lastWrite.FindStringSubmatch(body)
	if m == nil || m[1] != m[3] {
		return body
	}
	return lastWrite.ReplaceAllString(body, `"description":"wN"s ${2}"tags":"tN"s`)
}

// renumber returns a reply of the simulator with the recorded numbers.
func (g *race) renumber(want, got string) string {
	w, have := g.number.FindAllStringSubmatch(want, -1), g.number.FindAllStringSubmatch(got, -1)
	if len(w) != len(have) {
		return got
	}
	taken := map[string]bool{}
	for _, n := range g.recorded {
		taken[n] = true
	}
	for i := range w {
		if n := w[i][1]; g.recorded[have[i][1]] == "" && !taken[n] {
			g.recorded[have[i][1]], taken[n] = n, true
		}
	}
	return g.number.ReplaceAllStringFunc(got, func(m string) string {
		n := g.number.FindStringSubmatch(m)[1]
		return strings.TrimSuffix(m, n) + g.recorded[n]
	})
}

// isPermutation reports whether the recorded numbers are the simulator's numbers in another order.
func (g *race) isPermutation() bool {
	used := map[string]bool{}
	for _, n := range g.recorded {
		used[n] = true
	}
	for n := range g.recorded {
		if !used[n] {
			return false
		}
	}
	return true
}

func (r *replay) enterRace(entry string) {
	for _, g := range r.races {
		if g.first == entry {
			r.racing = g
		}
	}
}

// leaveRace returns the difference that only the whole group shows, or "".
func (r *replay) leaveRace(entry string) string {
	g := r.racing
	if g == nil || g.last != entry {
		return ""
	}
	r.racing = nil
	if !g.isPermutation() {
		return fmt.Sprintf("  got  numbers %v, want the recorded ones in any order", g.recorded)
	}
	return ""
}

// TestRaceAcceptsOnePermutation checks that a race excuses the order of parallel writes and nothing else.
func TestRaceAcceptsOnePermutation(t *testing.T) {
	t.Parallel()
	text := func(numbers ...string) string {
		var out []string
		for i, n := range numbers {
			out = append(out, "scsi"+itoa(i)+":vm-151-disk-"+n)
		}
		return strings.Join(out, " ")
	}
	tests := map[string]struct {
		log, config, gotLog, gotConfig string
		equal                          bool
	}{
		"as_recorded":         {text("0"), text("0", "1"), text("0"), text("0", "1"), true},
		"permutation":         {text("1"), text("1", "0"), text("0"), text("0", "1"), true},
		"log_and_config":      {text("1"), text("1", "0"), text("0"), text("1", "0"), false},
		"number_used_twice":   {text("1"), text("1", "0"), text("0"), text("0", "0"), false},
		"other_numbers":       {text("1"), text("1", "0"), text("2"), text("2", "3"), false},
		"disk_is_missing":     {text("1"), text("1", "0"), text("0"), text("0"), false},
		"last_write":          {"", `"description":"w14"s "tags":"t14"s`, "", `"description":"w19"s "tags":"t19"s`, true},
		"two_writes_mixed":    {"", `"description":"w14"s "tags":"t14"s`, "", `"description":"w19"s "tags":"t14"s`, false},
		"not_one_of_the_last": {"", `"description":"w14"s "tags":"t14"s`, "", `"description":"w20"s "tags":"t20"s`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := races(renaming{})[0]
			same := g.renumber(anyLast(tt.log), anyLast(tt.gotLog)) == anyLast(tt.log)
			same = g.renumber(anyLast(tt.config), anyLast(tt.gotConfig)) == anyLast(tt.config) && same
			if got := same && g.isPermutation(); got != tt.equal {
				t.Errorf("equal: got %t, want %t", got, tt.equal)
			}
		})
	}
}
