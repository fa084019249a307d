package pvesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// missingWords returns the parts of a canonical body that the other body does not have.
func missingWords(body, other string) string {
	var out []string
	rest := strings.Split(other, " ")
	for w := range strings.SplitSeq(body, " ") {
		if i := slices.Index(rest, w); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

var (
	upidPattern   = regexp.MustCompile(`UPID:[^:\s"]+:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:([^:\s"]+):([^:\s"]*):([^:\s"]+):`)
	upidStart     = regexp.MustCompile(`^\{"data":"UPID:[^:]+:[0-9A-F]+:[0-9A-F]+:([0-9A-F]{8}):`)
	stateDate     = regexp.MustCompile(`state-suspend-\d{4}-\d\d-\d\d`)
	backupPattern = regexp.MustCompile(`vzdump-((?:qemu|lxc)-\d+)-\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d`)
	digestPattern = regexp.MustCompile(`"digest":"([0-9a-f]{40})"`)
	macPattern    = regexp.MustCompile(`(?i)\bBC:24:11(?::[0-9A-F]{2}){3}\b`)
	// An instance id is a hash of data with MAC addresses. A link-local address contains a MAC address.
	instancePattern  = regexp.MustCompile(`instance-id: [0-9a-f]{40}`)
	linkLocalPattern = regexp.MustCompile(`fe80::be24:11ff:fe[0-9a-f:]+`)
	uuidPattern      = regexp.MustCompile(`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
)

// learn records which generated value of the simulator stands for which recorded value.
func (r *replay) learn(want, got string) {
	w, g := upidPattern.FindAllString(want, -1), upidPattern.FindAllString(got, -1)
	if len(w) > 0 && len(g) > 0 {
		if _, known := r.upids[w[0]]; !known {
			r.upids[w[0]] = g[0]
		}
	}
	wb, gb := backupPattern.FindString(want), backupPattern.FindString(got)
	if _, known := r.backups[wb]; wb != "" && gb != "" && !known {
		r.backups[wb] = gb
	}
	wd, gd := digestPattern.FindStringSubmatch(want), digestPattern.FindStringSubmatch(got)
	if wd != nil && gd != nil {
		r.digests[wd[1]] = gd[1]
	}
}

// measured are keys whose values depend on the host or on the time.
var measured = map[string]bool{
	"cpu": true, "mem": true, "memhost": true, "disk": true, "netin": true, "netout": true, "diskread": true, "diskwrite": true, "uptime": true,
	"used": true, "avail": true, "used_fraction": true, "pid": true, "pstart": true, "starttime": true, "endtime": true, "ctime": true,
	"snaptime": true, "digest": true, "freemem": true, "pressurecpufull": true, "pressurecpusome": true, "pressureiofull": true, "pressureiosome": true,
	"pressurememoryfull": true, "pressurememorysome": true, "blockstat": true, "ballooninfo": true, "ssl_fingerprint": true, "saved": true,
	"next-run": true, "total": true, "rx-bytes": true, "rx-packets": true, "tx-bytes": true, "tx-packets": true,
}

// isMeasured reports whether a value is measured. Some keys are measured in a status and settings in a config.
func isMeasured(key string, in map[string]any) bool {
	if key == "size" {
		return in["subtype"] != nil // of a backup
	}
	if key == "swap" {
		return in["maxswap"] != nil
	}
	if _, isText := in[key].(string); key == "cpu" && isText {
		return false
	}
	return measured[key]
}

func (r *replay) normalize(body string) string {
	body = backupPattern.ReplaceAllString(body, "vzdump-${1}-TIME")
	body = stateDate.ReplaceAllString(body, "state-suspend-DATE")
	s := upidPattern.ReplaceAllString(body, "UPID:$1:$2:$3")
	s = maskLog(s)
	s = uuidPattern.ReplaceAllString(s, "UUID")
	s = regexp.MustCompile(`ctime=\d+`).ReplaceAllString(s, "ctime=N")
	s = instancePattern.ReplaceAllString(s, "instance-id: HASH")
	s = linkLocalPattern.ReplaceAllString(s, "fe80::MAC")
	s = macPattern.ReplaceAllStringFunc(s, func(m string) string {
		if r.sentMACs[m] {
			return m
		}
		return "MAC"
	})
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return s
	}
	var b bytes.Buffer
	canonical(&b, v)
	return b.String()
}

// canonical prints JSON with sorted keys, lists of objects sorted, and measured values blanked.
func canonical(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(b, "%q:", k)
			switch {
			case isMeasured(k, v), k == "value" && v["key"] == "digest":
				b.WriteString("N")
			case k == "content":
				c := strings.Split(fmt.Sprint(v[k]), ",")
				slices.Sort(c)
				b.WriteString(strings.Join(c, ","))
			default:
				canonical(b, v[k])
			}
			b.WriteByte(' ')
		}
		b.WriteByte('}')
	case []any:
		items := make([]string, 0, len(v))
		for _, x := range v {
			var ib bytes.Buffer
			canonical(&ib, x)
			items = append(items, ib.String())
		}
		slices.Sort(items)
		b.WriteString("[" + strings.Join(items, " ") + "]")
	default:
		fmt.Fprintf(b, "%q", fmt.Sprint(v))
		fmt.Fprintf(b, "%.1T", v) // a number differs from its text
	}
}
