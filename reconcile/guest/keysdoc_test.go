package guest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest/form"
)

var update = flag.Bool("update", false, "rewrite docs/keys.md from the table")

// TestKeysPage compares docs/keys.md with the page that is generated from the table.
func TestKeysPage(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "keys.md")
	want := keysPage()
	if *update {
		if err := os.WriteFile(page, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("docs/keys.md differs from the table, run go test ./reconcile/guest -run KeysPage -update (-want +got):\n%s", diff)
	}
}

// TestEveryRuleHasADescription checks that the page can describe what each function decides.
func TestEveryRuleHasADescription(t *testing.T) {
	for _, kind := range []Kind{VirtualMachine, Container} {
		for _, r := range rowsOf(kind) {
			if r.cost != nil && (r.cost.description == "" || r.cost.cost == nil) || r.blocks != nil && (r.blocks.description == "" || r.blocks.reason == nil) {
				t.Errorf("%s %s: got a rule without a description or a function", kind, r.key)
			}
		}
	}
}

const pageHead = `# Configuration keys

All native keys of guests that the agent knows, generated from the table in ` + "`reconcile/guest`" + ` (do not edit). The fields of a
manifest are translated to these keys; under ` + "`raw:`" + ` a manifest sets keys itself.

- **Comparison.** Values are compared by their meaning, never as text. These differences are not drift: the order of sub-keys, separators,
  explicit defaults, other names of sub-keys, the case of tags and of addresses, numbers that come as JSON strings, and white space at the end
  of a description. Tags are compared in lower case, even if the datacenter keeps their case. A sub-key that a manifest does not name is kept.
- **Absent** is the value of a guest without the key or sub-key. If a manifest wants this value, an absent key is not written.
- **Takes effect** and **class** are for a running guest. On a stopped guest every possible change is live, except for removing a guard or a
  volume. A change that takes effect at the next start is written at once and reported until then.
- **Who** is the privilege that the API token needs on the guest. A key that only root@pam may write cannot be written with any token, not
  even a token of root@pam.
- **Release** names the releases of Proxmox VE that support the key, if not all from 8.4 on do. On a node that does not support the key, the
  change is impossible.
- A **key that is not on this page** is compared as text and kept, and the agent assumes that a change of it needs a restart.
- The **canonical text** of a property string, which plans and reports show, begins with the sub-key that needs no name. The other sub-keys
  are sorted, and defaults are left out. Booleans are 0 or 1; property strings may also contain on, yes, true, off, no and false.
- The file system freeze of ` + "`agent`" + ` is written as ` + "`freeze-fs-on-backup`" + `, the one name that both 8.x and 9.x accept.
- Reading the ` + "`env`" + ` of a container needs VM.Config.Options: without this privilege the key looks absent.
`

const releasesHead = `
## Releases

If the release of a node does not support a key, a change that needs the key is impossible, and the plan names the release that is needed. A
node whose release was not read counts as the newest.

Some releases print values as JSON strings that others print as numbers: the memory of virtual machines is a string from 8.1 on, the memory of
containers is a number, and limits with a fraction are strings. Both forms are read alike.

Disk geometry that a configuration kept from 8.x stays in what the agent writes: 9.x removes it itself, and it is not drift there.

| kind | key | releases |
|---|---|---|
`

func keysPage() []byte {
	var b bytes.Buffer
	b.WriteString(pageHead)
	for _, kind := range []Kind{VirtualMachine, Container} {
		fmt.Fprintf(&b, "\n## %s\n\n| key | value | absent | takes effect | class | who | release |\n|---|---|---|---|---|---|---|\n",
			map[Kind]string{VirtualMachine: "Virtual machines", Container: "Containers"}[kind])
		for _, r := range rowsOf(kind) {
			writeRow(&b, r)
		}
		writeClasses(&b, rowsOf(kind))
		if kind == VirtualMachine {
			writeSubs(&b, "Drives: sub-keys of scsi, virtio, sata and ide", scsiSyntax, driveSubs)
		}
		done := map[*syntax]bool{}
		for _, r := range rowsOf(kind) {
			if r.syntax != nil && !done[r.syntax] {
				done[r.syntax] = true
				writeSubs(&b, keysOf(r), r.syntax, r.syntax.own())
			}
		}
	}
	writeOutsideConfig(&b)
	writeReleases(&b)
	return b.Bytes()
}

// writeReleases lists the keys that only some releases support.
func writeReleases(b *bytes.Buffer) {
	b.WriteString(releasesHead)
	for _, kind := range []Kind{VirtualMachine, Container} {
		seen := map[string]bool{}
		for _, r := range rowsOf(kind) {
			if r.releases != (releases{}) {
				fmt.Fprintf(b, "| %s | %s | %s |\n", kind, keysOf(r), r.releases)
			}
			if r.syntax == nil {
				continue
			}
			for i := range r.syntax.subs {
				known := &r.syntax.subs[i]
				line := fmt.Sprintf("| %s | `%s` of %s | %s |\n", kind, known.name, familiesWith(kind, known), known.releases)
				if known.releases != (releases{}) && !seen[line] {
					seen[line] = true
					b.WriteString(line)
				}
			}
		}
	}
}

// familiesWith names the keys of a kind that have a sub-key of the same name and releases.
func familiesWith(kind Kind, known *sub) string {
	var names []string
	for _, r := range rowsOf(kind) {
		if r.syntax != nil && known.releases != (releases{}) && r.syntax.sub(known.name).releases == known.releases {
			names = append(names, code(r.key))
		}
	}
	return strings.Join(names, ", ")
}

func writeRow(b *bytes.Buffer, r *row) {
	value := describe(&r.scalar)
	if r.syntax != nil {
		value = "see below"
	}
	absent := code(r.absentValue)
	if r.device {
		absent = "none"
	}
	class := r.classText()
	if r.hasLongClass() {
		class = "see below"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", keysOf(r), value, absent, r.effectText(), class, r.writerText(), r.releases)
}

// hasLongClass reports whether the class of a row is a list below the table, since it does not fit into a cell.
func (r *row) hasLongClass() bool {
	const longest = 60 // characters of a cell
	return len(r.classText()) > longest
}

// writeClasses lists the classes that do not fit into the table. Keys with the same class are listed together.
func writeClasses(b *bytes.Buffer, rows []*row) {
	keys := map[string][]string{}
	var classes []string
	for _, r := range rows {
		if class := r.classText(); r.hasLongClass() {
			if keys[class] == nil {
				classes = append(classes, class)
			}
			keys[class] = append(keys[class], keysOf(r))
		}
	}
	for _, class := range classes {
		fmt.Fprintf(b, "\nClass of %s:\n\n- %s\n", strings.Join(keys[class], ", "), strings.ReplaceAll(class, "; ", "\n- "))
	}
}

func (r *row) effectText() string {
	if r.instead != "" {
		return "stored as `" + r.instead + "`"
	}
	return map[effect]string{
		atOnce: "at once", plugNetwork: "with hotplug `network`", plugDisk: "with hotplug `disk`", plugUSB: "with hotplug `usb`", plugCPU: "with hotplug `cpu`",
		plugMemory: "with hotplug `memory`", atStart: "next start", atCreate: "creation", never: "only Proxmox writes it",
	}[r.effect]
}

func (r *row) classText() string {
	switch {
	case r.rootOnly, r.effect == never, r.effect == atCreate:
		return "impossible"
	case r.cost != nil:
		return r.cost.description
	case r.drive && r.required: // a container's root
		return "options: restart; growth: live, cannot be undone; a larger volume stays; replacing: impossible"
	case r.drive && r.syntax.waits():
		return "a new volume: as it takes effect; options: restart; detaching: disruptive; growth: live, cannot be undone; a larger volume stays"
	case r.drive:
		return "a new volume: as it takes effect; options: live, or as noted for the sub-key; detaching: disruptive; growth: live, cannot be undone; a larger volume stays"
	case r.effect == atOnce:
		return "live"
	case r.effect == atStart:
		return "restart"
	default:
		return "live, else restart"
	}
}

func (r *row) writerText() string {
	switch {
	case r.effect == never:
		return "nobody"
	case r.rootOnly:
		return "only root@pam"
	case r.blocks != nil:
		return r.privilege + "; " + r.blocks.description
	case r.effect == atCreate:
		return "VM.Allocate"
	default:
		return r.privilege
	}
}

// own returns the sub-keys that not every drive has.
func (s *syntax) own() []sub {
	if len(s.subs) > len(driveSubs) && s.subs[len(driveSubs)-1].name == driveSubs[len(driveSubs)-1].name {
		return s.subs[len(driveSubs):]
	}
	return s.subs
}

func writeSubs(b *bytes.Buffer, title string, s *syntax, subs []sub) {
	fmt.Fprintf(b, "\n### %s\n\n| sub-key | value | absent | notes | release |\n|---|---|---|---|---|\n", title)
	for i := range subs {
		known := &subs[i]
		var notes []string
		for alias, name := range s.alias {
			if name == known.name {
				notes = append(notes, "also "+code(alias))
			}
		}
		for note, is := range map[string]bool{
			"required": known.required, "filled in by Proxmox": known.owned, "at creation": known.once, "fixed after creation": known.fixed, "next start": known.restart,
			"needs no name": known.name == s.bare, "one of " + strings.Join(s.anyOf, ", "): slices.Contains(s.anyOf, known.name) && len(s.anyOf) > 1,
			"needs `" + known.needs + "`":       known.needs != "",
			"not with `" + known.excludes + "`": known.excludes != "",
		} {
			if is {
				notes = append(notes, note)
			}
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", known.name, describe(&known.scalar), code(known.absentValue), strings.Join(slices.Sorted(slices.Values(notes)), ", "), known.releases)
	}
}

func keysOf(r *row) string {
	if r.slots == 0 {
		return code(r.key)
	}
	return fmt.Sprintf("`%s0` to `%s%d`", r.key, r.key, r.slots-1)
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// describe returns in words which texts a plain value accepts.
func describe(s *scalar) string {
	switch s.Form {
	case form.Bool:
		return "0 or 1"
	case form.Int, form.Weight, form.Number:
		return describeRange(s)
	case form.Enum:
		return strings.Join(s.Words, ", ")
	case form.Set, form.List, form.Hotplug:
		return describeWords(s)
	case form.Opaque:
		return "text"
	case form.Notes:
		return "text of at most 8192 characters"
	case form.Name, form.Tags, form.MAC, form.Address, form.Network, form.UUID, form.Keys, form.Encoded, form.Machine, form.Size, form.ID, form.Port, form.Volume, form.Secret,
		form.Ranges, form.Hex, form.PCI, form.USB, form.Environ, form.Generated:
	}
	return map[form.Form]string{
		form.Name: "DNS name", form.Tags: "tags, a set in lower case", form.MAC: "MAC address", form.Address: "IP address",
		form.Network: "IP address with prefix length, or dhcp, auto, manual", form.UUID: "UUID", form.Keys: "public keys, a set, URL-encoded", form.Encoded: "URL-encoded text",
		form.Machine: "machine type; q35 and pc accept all their versions", form.Size: "size", form.ID: "name of a mapping", form.Port: "socket, or a device of the host",
		form.Volume: "volume", form.Secret: "write-only", form.Ranges: "numbers and ranges, a set", form.Hex: "hexadecimal number", form.PCI: "PCI addresses, a set",
		form.USB: "vendor:product, bus-port, or spice", form.Environ: "NAME=value, separated by NUL", form.Generated: "UUID, 1 to generate one, or 0",
	}[s.Form]
}

func describeRange(s *scalar) string {
	words := "number"
	if s.Form != form.Number {
		words = "whole number"
	}
	switch {
	case s.Max > 0:
		words += fmt.Sprintf(", %s to %s", printed(s.Min), printed(s.Max))
	case s.Min > 0:
		words += ", at least " + printed(s.Min)
	}
	if s.Form == form.Weight {
		words += "; above 10000 is 10000"
	}
	return words
}

func describeWords(s *scalar) string {
	kind := map[form.Form]string{form.Set: "a set", form.List: "a list", form.Hotplug: "0, 1, or a set"}[s.Form]
	switch {
	case len(s.Words) > 0:
		return kind + " of " + strings.Join(s.Words, ", ")
	case s.Item == form.Address:
		return kind + " of IP addresses"
	case s.Item == form.Name:
		return kind + " of DNS names"
	default:
		return kind + " of words"
	}
}
