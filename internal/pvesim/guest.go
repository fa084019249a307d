package pvesim

import (
	"time"

	"gitops-agent/internal/pvesim/configtext"
)

// guest is one VM or container. The text of the config file is authoritative; conf and digest are derived from it.
type guest struct {
	vmid   int
	kind   Kind
	node   string
	text   string
	conf   *config
	digest string

	running, paused bool
	movedTo         string    // the node on which a process waits for the machine since a migration began that has not ended
	postmigrate     bool      // the memory is there, and the config is not: the machine is frozen
	prelaunch       bool      // paused, and reset since then
	startedAt       time.Time // when its system was started
	processSince    time.Time // when its process was: a live migration starts another one
	pid             int
	resumed         bool                      // runs on restored memory
	drive           cloudInitImage            // what its cloud-init drive contains
	seed            cloudInitImage            // what its system read from the drive when it booted
	memories        map[string]cloudInitImage // by snapshot with memory: what the system in it had read
	unresponsive    bool                      // ignores shutdown requests; its agent does not answer

	configRow     *row // the row of the stopped guest, derived from the text on first use
	lastBroadcast *row // the row in the last resource broadcast; nil before the first
}

func newGuest(vmid int, kind Kind, node string) *guest {
	g := &guest{vmid: vmid, kind: kind, node: node}
	g.write(configtext.New())
	return g
}

// write formats conf as the new file and parses the file again.
func (g *guest) write(conf *config) { g.setText(conf.Format(g.kind)) }

func (g *guest) setText(text string) {
	g.text = text
	g.conf = configtext.Parse(g.kind, text)
	g.configRow = nil
	g.digest = configtext.Digest(text)
}

// edit changes a copy of the config and writes it to the file.
func (g *guest) edit(change func(*config)) {
	c := g.conf.Clone()
	change(c)
	g.write(c)
}

func (g *guest) isTemplate() bool { return g.conf.Values["template"] == "1" }

func (g *guest) name() string {
	if g.kind == LXC {
		if n := g.conf.Values["hostname"]; n != "" {
			return n
		}
		return "CT" + itoa(g.vmid)
	}
	if n := g.conf.Values["name"]; n != "" {
		return n
	}
	return "VM " + itoa(g.vmid)
}

// label returns the guest's kind as error texts print it.
func (g *guest) label() string { return kindLabel(g.kind) }

func kindLabel(k Kind) string {
	if k == LXC {
		return "CT"
	}
	return "VM"
}

// configPath returns the path of the config file as error texts print it.
func configPath(kind Kind, node string, vmid int) string {
	dir := "qemu-server"
	if kind == LXC {
		dir = "lxc"
	}
	return "nodes/" + node + "/" + dir + "/" + itoa(vmid) + ".conf"
}

func (g *guest) checkLock() error {
	if l := g.conf.Values["lock"]; l != "" {
		return apiErrorf("%s is locked (%s)", g.label(), l)
	}
	return nil
}

// checkLockExcept rejects every lock but one.
func (g *guest) checkLockExcept(allowed string) error {
	if g.conf.Values["lock"] == allowed {
		return nil
	}
	return g.checkLock()
}

// checkDigest rejects a write that is based on another version of the file. The error text differs by kind.
func (g *guest) checkDigest(want string) error {
	if want == "" || want == g.digest {
		return nil
	}
	if g.kind == LXC {
		return apiErrorf("detected modified configuration - file changed by other user? Try again.")
	}
	return apiErrorf("checksum mismatch (file change by other user?)")
}

func (g *guest) checkProtection(what string) error {
	if g.conf.Values["protection"] == "1" {
		return apiErrorf("%s - protection mode enabled", what)
	}
	return nil
}

// find returns the guest of the kind on the node. For a missing guest, Proxmox's error contains the path of the config file.
func (s *Sim) find(kind Kind, node string, vmid int) (*guest, error) {
	g := s.guests[vmid]
	if g == nil || g.kind != kind || g.node != node {
		return nil, apiErrorf("Configuration file '%s' does not exist", configPath(kind, node, vmid))
	}
	return g, nil
}
