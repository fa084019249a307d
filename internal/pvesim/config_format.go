package pvesim

import (
	"crypto/sha1" //nolint:gosec // Proxmox's digest is SHA-1 by definition; nothing is protected by it
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// format prints the file: description as comments, sorted keys, the pending section, what the cloud-init image was made from, the snapshots.
func (c *config) format(kind Kind) string {
	var b strings.Builder
	writeSection(&b, c.values)
	if c.hasPending() {
		b.WriteString("\n" + pendingHeader(kind) + "\n")
		p := maps.Clone(c.pending)
		if p == nil {
			p = values{}
		}
		if len(c.deletes) > 0 {
			p["delete"] = formatDeletes(c.deletes)
		}
		writeSection(&b, p)
	}
	if len(c.imageValues) > 0 {
		b.WriteString("\n" + cloudInitHeader + "\n")
		writeSection(&b, c.imageValues)
	}
	for _, s := range slices.SortedFunc(slices.Values(c.snaps), func(a, b snapshot) int { return strings.Compare(a.name, b.name) }) {
		b.WriteString("\n[" + s.name + "]\n")
		writeSection(&b, s.values)
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

func formatDeletes(ds []pendingDelete) string {
	keys := make([]string, 0, len(ds))
	for _, d := range ds {
		if d.force {
			keys = append(keys, "!"+d.key)
		} else {
			keys = append(keys, d.key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ",")
}

func writeSection(b *strings.Builder, v values) {
	if d := v["description"]; d != "" {
		for line := range strings.SplitSeq(strings.TrimSuffix(d, "\n"), "\n") {
			b.WriteString("#" + encodeComment(line) + "\n")
		}
	}
	for _, k := range slices.Sorted(maps.Keys(v)) {
		if k == "description" {
			continue
		}
		fmt.Fprintf(b, "%s: %s\n", k, v[k])
	}
}

// encodeComment percent-encodes what a comment line cannot hold: percent signs, control characters and non-ASCII bytes.
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
	keyLine     = regexp.MustCompile(`^([a-z][a-z_\-]*\d*):\s*(.*?)\s*$`)
)

// parseConfig reads a file as written by format or by hand. Lines it does not understand are dropped, as Proxmox does.
func parseConfig(kind Kind, text string) *config {
	c := newConfig()
	cur, descr := c.values, []string(nil)
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
			if k, v, ok := splitKeyLine(line); ok {
				cur[k] = v
			}
		}
	}
	flush()
	c.deletes = parseDeletes(c.pending["delete"])
	delete(c.pending, "delete")
	return c
}

func (c *config) section(kind Kind, name string) values {
	if "["+name+"]" == pendingHeader(kind) {
		return c.pending
	}
	if "["+name+"]" == cloudInitHeader {
		c.imageValues = values{}
		return c.imageValues
	}
	c.snaps = append(c.snaps, snapshot{name: name, values: values{}})
	return c.snaps[len(c.snaps)-1].values
}

// splitKeyLine reads "key: value". An empty value reads as one blank, which is what the API then shows.
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

func parseDeletes(s string) []pendingDelete {
	var ds []pendingDelete
	for k := range strings.SplitSeq(s, ",") {
		k = strings.TrimSpace(k)
		if k == "" {
			continue
		}
		key, force := strings.CutPrefix(k, "!")
		ds = append(ds, pendingDelete{key: key, force: force})
	}
	return ds
}

// digest is the SHA-1 of the whole file, pending changes and snapshots included.
func digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}
