package pvesim

import (
	"fmt"
	"strings"
)

var templateVariable = newPattern(`\{\{([^}]*)\}\}`)

// checkNotesTemplate returns the error of a template for the notes of backups with a variable that Proxmox does not know.
//
// Source: PVE::VZDump, verify_notes_template.
func checkNotesTemplate(template string) error {
	for _, at := range templateVariable.FindAllStringSubmatchIndex(template, -1) {
		switch name := template[at[2]:at[3]]; name {
		case "cluster", "guestname", "node", "vmid":
		default:
			return paramError("notes-template", fmt.Sprintf("found unknown: variable '%s' at char %d\n", name, at[0]+4))
		}
	}
	return nil
}

// notesOf returns the notes of a guest's backup. The state is locked.
func (s *Sim) notesOf(template string, g *guest) string {
	cluster := "standalone node"
	if len(s.opts.Nodes) > 1 {
		cluster = "pvesim"
	}
	return strings.NewReplacer(
		"{{guestname}}", g.name(), "{{node}}", g.node, "{{cluster}}", cluster, "{{vmid}}", itoa(g.vmid), `\n`, "\n", `\\`, `\`,
	).Replace(template)
}
