package pvesim

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/recordings"
)

// renaming gives other names to all guests, the node, the second storage and the pool of the recordings, in requests and in expected replies,
// so that no reply can be a copy of a recording. The storage "local" keeps its name, which is Proxmox's default.
type renaming struct {
	on        bool
	noneNamed bool // the call is about names that no guest has: those of aliases and sets of a firewall
}

const vmidShift = 7000

// vmidContexts match the places in URLs, bodies and texts where a number of three digits, or of four from 9000 on, is a vmid. The number is the second of three
// groups; the other two are kept.
var vmidContexts = func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, e := range []string{
		`((?:qemu|lxc|qemu-server|images|vms)/)(9?\d{3})(\b)`,
		`(\b(?:vm|base)-)(9?\d{3})(-)`,
		`(\b)(9?\d{3})(/(?:(?:vm|base)-|bad\.))`,
		`(\b(?:VM|CT|container|ID) )(9?\d{3})(\b)`,
		`(\bCT)(9?\d{3})(\b)`,
		`(lock-)(9?\d{3})(\.)`,
		`("(?:vmid|newid|vms|exclude)": ?"?)(9?\d{3})(\b)`,
		`("id":")(9?\d{3})([@"])`,
		`("id":)(9\d{3})(\b)`,
		`("id":")(9\d{3})(:)`,
		`(\b(?:vmid|newid|vms|exclude)=)(9?\d{3})(\b)`,
		`(:[a-z]+:)(9?\d{3})([:@])`,
		`(/replication/)(9\d{3})(-)`,
		`(\bid=)(9\d{3})(-)`,
		`(\b(?:job|id) ')(9\d{3})(-)`,
		`(Guest ')(9\d{3})(')`,
		`(\bsid=)(9?\d{3})(\b)`,
		`(\b(?:vm|ct):)(9?\d{3})(\b)`,
		`(vzdump-(?:qemu|lxc)-)(9?\d{3})(-)`,
		`(\btap)(9?\d{3})(i)`,
		`(, )(9?\d{3})( to )`,
		`(lxc-checkpoint(?:: | -n ))(9?\d{3})(\b)`,
		`(\bvzdump )(9?\d{3})(\b)`,
		`(Checkpointing )(9?\d{3})(\b)`,
	} {
		out = append(out, regexp.MustCompile(e))
	}
	return out
}()

// furtherVMIDs matches a list of vmids of which vmidContexts rename the first one.
var (
	furtherVMIDs = regexp.MustCompile(`\b(?:vmid|exclude)"?[=:]"?9\d{3}(?:,9\d{3})+`)
	vmidInList   = regexp.MustCompile(`9\d{3}`)
)

var namePatterns = []struct {
	find *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\blocal2\b`), "tank"},
	{regexp.MustCompile(`\blocal-lvm\b`), "slow-lvm"},
	{regexp.MustCompile(`\brec9700("|$|&|/|')`), "set9700${1}"},
	{regexp.MustCompile(`\brec-(p|nl|none|tagent|tro|tnone)\b`), "set-${1}"},
	{regexp.MustCompile(`\bgitops("|$|&|/|')`), "crew${1}"}, // the pool, not the user gitops@pve
}

// guestNames are all names that the recordings send for guests; TestRenamingReachesEveryName checks that none is missing.
const guestNames = `(?:r5|min|del|js|nx|dup|novmid|bad_name!?|started|opts|UPPER\.case|UPPER|a\.b-c|1abc|under_score|-x|ünï|run2?|lk|clone-full|` +
	`linked|fulltpl|snap|w|race\d+|p\d+|again|ct1|bad_host|web1\.example\.com|web1|newname|c2|inpool|la|wa|bk|gold|sf|xc|k|` +
	`fwct2?|fw-vm|fw-clone|fw-linked|again2|idc|snct|x_y|z|b|cl|d|e|fs|sn2?|po|img|bkct|bk-[ab]|other|a\.b\.c|a_b|aaaa+)`

// nameContexts match the places where one of guestNames names a guest. The new name has a suffix, so that a name that is rejected for its
// beginning is rejected again.
var nameContexts = func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, e := range []string{
		`("(?:name|hostname)": ?")(` + guestNames + `)(")`,
		`("(?:value|pending|notes)":")(` + guestNames + `)(")`,
		`(^(?:name|hostname)=)(` + guestNames + `)($)`,
		`((?:name|fqdn|Name): )(` + guestNames + `)(\n|\\n|\.a\.com|"|$)`,
		`(Copy-of-(?:VM|CT)-)(` + guestNames + `)(")`,
		`( root@)(` + guestNames + `)(")`,
	} {
		out = append(out, regexp.MustCompile(e))
	}
	return out
}()

// text renames everything in a decoded text.
func (n renaming) text(s string) string {
	if !n.on {
		return s
	}
	s = strings.ReplaceAll(s, "+pve1", "\x00") // part of a machine version, not the node
	s = strings.ReplaceAll(s, "pve1", "node7")
	s = strings.ReplaceAll(s, "\x00", "+pve1")
	for _, p := range namePatterns {
		s = p.find.ReplaceAllString(s, p.with)
	}
	for _, re := range nameContexts {
		if n.noneNamed {
			break
		}
		s = re.ReplaceAllString(s, "${1}${2}-re${3}")
	}
	s = furtherVMIDs.ReplaceAllStringFunc(s, func(list string) string {
		first, rest, _ := strings.Cut(list, ",")
		return first + "," + vmidInList.ReplaceAllStringFunc(rest, func(id string) string { return itoa(n.vmid(atoi(id))) })
	})
	for _, re := range vmidContexts {
		s = re.ReplaceAllStringFunc(s, func(m string) string {
			g := re.FindStringSubmatch(m)
			return g[1] + itoa(n.vmid(atoi(g[2]))) + g[3]
		})
	}
	return s
}

// vmid returns the new vmid of a guest. 100 stays, because nextid returns it on an empty cluster.
func (n renaming) vmid(id int) int {
	if !n.on || id <= 100 {
		return id
	}
	return id + vmidShift
}

// body renames a request body: form by value, JSON as text.
func (n renaming) body(s string) string {
	if !n.on || strings.HasPrefix(s, "{") {
		return n.text(s)
	}
	var out []string
	for pair := range strings.SplitSeq(s, "&") {
		k, v, found := strings.Cut(pair, "=")
		d, err := url.QueryUnescape(v)
		if !found || err != nil {
			out = append(out, pair)
			continue
		}
		renamed := strings.TrimPrefix(n.text(k+"="+d), k+"=")
		out = append(out, k+"="+url.QueryEscape(renamed))
	}
	return strings.Join(out, "&")
}

// path renames a URL's path. Encoded segments stay encoded.
func (n renaming) path(s string) string {
	d, err := url.PathUnescape(s)
	if err != nil || d == s {
		return n.text(s)
	}
	segments := strings.Split(s, "/")
	for i, seg := range segments {
		if u, err := url.PathUnescape(seg); err == nil && u != seg {
			segments[i] = url.QueryEscape(n.text(u))
		}
	}
	return n.text(strings.Join(segments, "/"))
}

// entry renames one recorded call.
func (n renaming) entry(e recordings.Exchange) recordings.Exchange {
	if !n.on {
		return e
	}
	n.noneNamed = strings.Contains(e.URL, "/firewall/")
	path, query, found := strings.Cut(e.URL, "?")
	e.URL = n.path(path)
	if found {
		e.URL += "?" + n.body(query)
	}
	if e.Body != nil {
		b := n.body(*e.Body)
		e.Body = &b
	}
	e.Reply = n.text(e.Reply)
	e.Reason = n.text(e.Reason)
	return e
}

// TestRenamingReachesEveryName checks that no request contains the recorded name of a guest.
func TestRenamingReachesEveryName(t *testing.T) {
	sent := regexp.MustCompile(`(?:^|&)(?:host)?name=([^&]+)|"(?:host)?name": ?"([^"]+)"`)
	seen := map[string]bool{}
	for _, f := range slices.Concat(recordings.First(t), secondSeries(t).files) {
		for i, e := range f.Exchanges {
			if e.Body == nil || strings.Contains(e.URL, "/firewall/") {
				continue
			}
			renamed := renaming{on: true}.body(*e.Body)
			for _, name := range sent.FindAllString(*e.Body, -1) {
				seen[name] = true
				if slices.Contains(sent.FindAllString(renamed, -1), name) {
					t.Errorf("%s/%d: got %s renamed to itself, want it among guestNames", f.Name, i, name)
				}
			}
		}
	}
	if len(seen) < 70 {
		t.Errorf("got %d names sent, want the recordings' 70 and more", len(seen))
	}
}
