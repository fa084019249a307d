package configtext

import (
	"crypto/sha1" //nolint:gosec // Proxmox's digest is SHA-1 by definition; nothing is protected by it
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Format returns the text of the file: the description as comments, sorted keys, the pending section, the section of the cloud-init image,
// and the snapshots, sorted by name.
func (c *Config) Format(kind Kind) string {
	var b strings.Builder
	writeSection(&b, c.Values)
	if c.HasPending() {
		b.WriteString("\n" + pendingHeader(kind) + "\n")
		p := maps.Clone(c.Pending)
		if p == nil {
			p = Values{}
		}
		if len(c.Deletes) > 0 {
			p["delete"] = formatDeletes(c.Deletes)
		}
		writeSection(&b, p)
	}
	if c.ImageValues != nil {
		b.WriteString("\n" + cloudInitHeader + "\n")
		writeSection(&b, c.ImageValues)
	}
	for _, s := range slices.SortedFunc(slices.Values(c.Snapshots), func(a, b Snapshot) int { return strings.Compare(a.Name, b.Name) }) {
		b.WriteString("\n[" + s.Name + "]\n")
		writeSection(&b, s.Values)
	}
	return b.String()
}

const cloudInitHeader = "[special:cloudinit]"

func pendingHeader(kind Kind) string {
	if kind == LXC {
		return "[pve:pending]"
	}
	return "[PENDING]"
}

func formatDeletes(ds []PendingDelete) string {
	keys := make([]string, 0, len(ds))
	for _, d := range ds {
		if d.Force {
			keys = append(keys, "!"+d.Key)
		} else {
			keys = append(keys, d.Key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ",")
}

func writeSection(b *strings.Builder, v Values) {
	if d := v["description"]; d != "" {
		for line := range strings.SplitSeq(strings.TrimSuffix(d, "\n"), "\n") {
			b.WriteString("#" + encodeComment(line) + "\n")
		}
	}
	for _, k := range slices.Sorted(maps.Keys(v)) {
		if k == "description" || k == Lines {
			continue
		}
		fmt.Fprintf(b, "%s: %s\n", k, v[k])
	}
	if v[Lines] != "" {
		b.WriteString(v[Lines] + "\n")
	}
}

// encodeComment percent-encodes the bytes that a comment line cannot contain: percent signs, control characters and non-ASCII bytes.
func encodeComment(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c == '%' || c < 0x20 && c != '\t' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func decodeComment(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if raw, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b = append(b, raw...)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

var (
	sectionLine = regexp.MustCompile(`^\[([^\]]+)\]\s*$`)
	lxcLine     = regexp.MustCompile(`^(lxc\.[a-z0-9_\-.]+)(?::|\s*=)\s*(.*?)\s*$`)
	keyLine     = regexp.MustCompile(`^([a-z][a-z_\-]*\d*):\s*(.*?)\s*$`)
)

// Parse parses the text of a file, as Format or a person wrote it. It drops lines that it does not understand, as Proxmox does.
func Parse(kind Kind, text string) *Config {
	c := New()
	cur, descr := c.Values, []string(nil)
	flush := func() {
		if d := joinDescription(kind, descr); d != "" {
			cur["description"] = d
		}
		descr = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			descr = append(descr, decodeComment(line[1:]))
		case strings.HasPrefix(line, "["):
			m := sectionLine.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			flush()
			cur = c.section(kind, m[1])
		default:
			if m := lxcLine.FindStringSubmatch(line); m != nil && kind == LXC {
				cur[Lines] = strings.TrimPrefix(cur[Lines]+"\n"+m[1]+": "+m[2], "\n")
			} else if k, v, ok := splitKeyLine(line); ok {
				cur[k] = v
			}
		}
	}
	flush()
	c.Deletes = parseDeletes(c.Pending["delete"])
	delete(c.Pending, "delete")
	return c
}

func (c *Config) section(kind Kind, name string) Values {
	if "["+name+"]" == pendingHeader(kind) {
		return c.Pending
	}
	if "["+name+"]" == cloudInitHeader {
		c.ImageValues = Values{}
		return c.ImageValues
	}
	c.Snapshots = append(c.Snapshots, Snapshot{Name: name, Values: Values{}})
	return c.Snapshots[len(c.Snapshots)-1].Values
}

// splitKeyLine splits "key: value". An empty value becomes one space, which is what the API then shows.
func splitKeyLine(line string) (key, value string, ok bool) {
	k, v, found := strings.Cut(line, ":")
	if !found || k == "" || !keyLine.MatchString(k+": x") {
		return "", "", false
	}
	if v = strings.TrimSpace(v); v == "" {
		v = " "
	}
	return k, v, true
}

func joinDescription(kind Kind, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	d := strings.Join(lines, "\n") + "\n"
	if kind == QEMU {
		d = strings.TrimRight(d, " \t\r\n\f\v")
	}
	return d
}

func parseDeletes(s string) []PendingDelete {
	var ds []PendingDelete
	for k := range strings.SplitSeq(s, ",") {
		k = strings.TrimSpace(k)
		if k == "" {
			continue
		}
		key, force := strings.CutPrefix(k, "!")
		ds = append(ds, PendingDelete{Key: key, Force: force})
	}
	return ds
}

// Digest returns the SHA-1 of the whole file in hexadecimal. The pending changes and the snapshots are part of it.
func Digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}
