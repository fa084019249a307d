package pvesim

import "time"

// guest is one VM or container. The text is the truth; conf and digest are what it says.
type guest struct {
	vmid   int
	kind   Kind
	node   string
	text   string
	conf   *config
	digest string

	running, paused bool
	startedAt       time.Time
	pid             int
	unresponsive    bool // does not react to a shutdown request

	configRow     *row // what the text alone says, worked out when first asked
	lastBroadcast *row // what the last resource broadcast said; nil before the first
}

func newGuest(vmid int, kind Kind, node string) *guest {
	g := &guest{vmid: vmid, kind: kind, node: node}
	g.write(newConfig())
	return g
}

// write makes conf the content of the file and reads it back.
func (g *guest) write(conf *config) { g.setText(conf.format(g.kind)) }

func (g *guest) setText(text string) {
	g.text = text
	g.conf = parseConfig(g.kind, text)
	g.configRow = nil
	g.digest = digest(text)
}

// edit changes the file.
func (g *guest) edit(change func(*config)) {
	c := g.conf.clone()
	change(c)
	g.write(c)
}

func (g *guest) isTemplate() bool { return g.conf.values["template"] == "1" }

func (g *guest) name() string {
	if g.kind == LXC {
		if n := g.conf.values["hostname"]; n != "" {
			return n
		}
		return "CT" + itoa(g.vmid)
	}
	if n := g.conf.values["name"]; n != "" {
		return n
	}
	return "VM " + itoa(g.vmid)
}

// label is how error texts call the guest's kind.
func (g *guest) label() string { return kindLabel(g.kind) }

func kindLabel(k Kind) string {
	if k == LXC {
		return "CT"
	}
	return "VM"
}

// configPath is the file's name as error texts show it.
func configPath(kind Kind, node string, vmid int) string {
	dir := "qemu-server"
	if kind == LXC {
		dir = "lxc"
	}
	return "nodes/" + node + "/" + dir + "/" + itoa(vmid) + ".conf"
}

func (g *guest) checkLock() error {
	if l := g.conf.values["lock"]; l != "" {
		return apiErrorf("%s is locked (%s)", g.label(), l)
	}
	return nil
}

// checkDigest refuses a write based on another version of the file. The text differs by kind.
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
	if g.conf.values["protection"] == "1" {
		return apiErrorf("%s - protection mode enabled", what)
	}
	return nil
}

// find returns a guest of the kind on the node. Proxmox answers for a missing one with the path of its file.
func (s *Sim) find(kind Kind, node string, vmid int) (*guest, error) {
	g := s.guests[vmid]
	if g == nil || g.kind != kind || g.node != node {
		return nil, apiErrorf("Configuration file '%s' does not exist", configPath(kind, node, vmid))
	}
	return g, nil
}
