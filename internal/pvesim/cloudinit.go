package pvesim

import (
	"crypto/sha1" //nolint:gosec // the instance id is a SHA-1 by definition; nothing is protected by it
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"strings"
)

func cloudInitRoutes() []*route {
	return []*route{
		readRoute(vmPath+"/cloudinit", readCloudInit).withGuestPrivilege("VM.Audit"),
		writeRoute(http.MethodPut, vmPath+"/cloudinit", regenerateCloudInit).withGuestPrivilege("VM.Config.Cloudinit"),
		readRoute(vmPath+"/cloudinit/dump", dumpCloudInit).withParams(map[string]rule{"type": enum("user", "network", "meta").needed()}).withGuestPrivilege("VM.Audit"),
	}
}

// cloudInitImage is the content of a generated image. Images of all types are shown in the form of NoCloud.
type cloudInitImage struct{ user, network string }

func (s *Sim) cloudInitImage(g *guest) cloudInitImage {
	v := g.conf.Merged()
	return cloudInitImage{user: userData(g.vmid, v), network: networkData(v)}
}

// CloudInitRead returns the text that the system of a running VM read from its cloud-init drive when it last booted. The API does not show it: a live
// migration, a resumption from disk and a rollback with memory start a process and boot nothing.
func (s *Sim) CloudInitRead(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guests[vmid]; g != nil && g.running {
		return g.seed.user + g.seed.network
	}
	return ""
}

// CloudInitNext returns the text that the system of a VM would read if its drive were made now.
func (s *Sim) CloudInitNext(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guests[vmid]; g != nil {
		image := s.cloudInitImage(g)
		return image.user + image.network
	}
	return ""
}

// meta returns the instance id. The id is a hash of everything else, so any change makes a new instance of the guest.
func (i cloudInitImage) meta() string {
	sum := sha1.Sum([]byte(i.user + i.network)) //nolint:gosec // see the import
	return "instance-id: " + hex.EncodeToString(sum[:]) + "\n"
}

func dumpCloudInit(c *call) (reply, error) {
	g, err := c.vm()
	if err != nil {
		return reply{}, err
	}
	i := c.sim.cloudInitImage(g)
	switch c.params["type"] {
	case "user":
		return dataReply(jsonString(i.user))
	case "network":
		return dataReply(jsonString(i.network))
	}
	return dataReply(jsonString(i.meta()))
}

// userData returns the user part of the image: names, account, keys.
func userData(vmid int, v values) string {
	var b strings.Builder
	host := v["name"]
	if host == "" {
		host = "VM" + itoa(vmid)
	}
	fqdn := host
	if short, _, dotted := strings.Cut(host, "."); dotted {
		host = short
	} else if search := v["searchdomain"]; search != "" {
		fqdn = host + "." + search
	}
	b.WriteString("#cloud-config\nhostname: " + host + "\nmanage_etc_hosts: true\nfqdn: " + fqdn + "\n")
	user, named := v["ciuser"]
	if named {
		b.WriteString("user: " + user + "\n")
	}
	if user == "root" {
		b.WriteString("disable_root: False\n")
	}
	if p, ok := v["cipassword"]; ok {
		b.WriteString("password: " + p + "\n")
	}
	writeKeys(&b, v["sshkeys"])
	b.WriteString("chpasswd:\n  expire: False\n")
	if user != "root" {
		b.WriteString("users:\n  - default\n")
	}
	if v["ciupgrade"] != "0" {
		b.WriteString("package_upgrade: true\n")
	}
	return b.String()
}

func writeKeys(b *strings.Builder, encoded string) {
	if encoded == "" {
		return
	}
	keys, err := url.PathUnescape(encoded)
	if err != nil {
		keys = encoded // checked when it was set
	}
	b.WriteString("ssh_authorized_keys:\n")
	for k := range strings.SplitSeq(keys, "\n") {
		if strings.TrimSpace(k) != "" {
			b.WriteString("  - " + k + "\n")
		}
	}
}

// networkData returns the network part of the image, version 1: the devices that have an ipconfig, then the name servers.
func networkData(v values) string {
	var b strings.Builder
	b.WriteString("version: 1\nconfig:\n")
	for _, k := range slotsOf(v, isNet) {
		_, index, _ := splitIndex(k)
		ip, err1 := ipconfigFormat.parse("ipconfig", v["ipconfig"+itoa(index)])
		dev, err2 := qemuNetFormat.parse(k, v[k])
		if err1 != nil || err2 != nil || len(ip) == 0 {
			continue
		}
		b.WriteString("    - type: physical\n      name: eth" + itoa(index) + "\n      mac_address: '" + strings.ToLower(dev["macaddr"]) + "'\n      subnets:\n")
		writeSubnets(&b, ip)
	}
	servers, search := listOf(v["nameserver"]), listOf(v["searchdomain"])
	if len(servers)+len(search) == 0 {
		return b.String()
	}
	b.WriteString("    - type: nameserver\n")
	for _, part := range []struct {
		name  string
		items []string
	}{{"address", servers}, {"search", search}} {
		if len(part.items) == 0 {
			continue
		}
		b.WriteString("      " + part.name + ":\n")
		for _, x := range part.items {
			b.WriteString("      - '" + x + "'\n")
		}
	}
	return b.String()
}

func writeSubnets(b *strings.Builder, ip values) {
	line := func(s string) { b.WriteString("      " + s + "\n") }
	switch a := ip["ip"]; a {
	case "":
	case "dhcp":
		line("- type: dhcp4")
	default:
		addr, n, err := net.ParseCIDR(a)
		if err != nil {
			return // checked when it was set
		}
		line("- type: static")
		line("  address: '" + addr.String() + "'")
		line("  netmask: '" + net.IP(n.Mask).String() + "'")
		if gw := ip["gw"]; gw != "" {
			line("  gateway: '" + gw + "'")
		}
	}
	switch a := ip["ip6"]; a {
	case "":
	case "dhcp":
		line("- type: dhcp6")
	case "auto":
		line("- type: ipv6_slaac")
	default:
		line("- type: static6")
		line("  address: '" + a + "'")
		if gw := ip["gw6"]; gw != "" {
			line("  gateway: '" + gw + "'")
		}
	}
}

// regenerateCloudInit writes the image again, so that no cloud-init value is pending.
func regenerateCloudInit(c *call) (reply, error) {
	err := c.sim.withGuestLock(QEMU, c.vmid(), func() error {
		g, err := c.vm()
		if err != nil {
			return err
		}
		if err := g.checkLock(); err != nil {
			return err
		}
		if err := c.sim.checkWritable(g); err != nil {
			return err
		}
		return c.sim.generateCloudInit(g, func(string, ...any) {})
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

// generateCloudInit writes the image of a VM that has a cloud-init drive. The files that cicustom
// names must exist. The state is locked.
func (s *Sim) generateCloudInit(g *guest, logf func(string, ...any)) error {
	for _, slot := range diskSlots(QEMU, g.conf.Values) {
		d, err := parseDrive(slot, g.conf.Values[slot])
		if err != nil || !d.isCloudInit() {
			continue
		}
		custom, err := customFormat.parse("cicustom", strings.TrimSpace(g.conf.Values["cicustom"]))
		for _, part := range []string{"user", "network", "meta", "vendor"} {
			if vol := custom[part]; err == nil && vol != "" && s.volume(vol) == nil {
				return apiErrorf("volume '%s' does not exist", vol)
			}
		}
		logf("generating cloud-init ISO")
		g.drive = s.cloudInitImage(g)
		g.edit(func(conf *config) { conf.ImageValues = nil })
	}
	return nil
}

// recordCloudInitSize writes the size of the cloud-init drive into the config, as a start does. The state is locked.
func (s *Sim) recordCloudInitSize(g *guest) {
	slot := cloudInitSlot(g.conf.Values, "")
	d, err := parseDrive(slot, g.conf.Values[slot])
	if err == nil && slot != "" && d.values["size"] == "" {
		g.edit(func(conf *config) { conf.Values[slot] = d.with(d.file(), 4*mib).text() })
	}
}

// hasCloudInit reports whether the config has a cloud-init drive.
func hasCloudInit(c *config) bool { return cloudInitSlot(c.Values, "") != "" }

// cloudInitSlot returns the slot of the cloud-init drive among the values, or "". It ignores the slot except.
func cloudInitSlot(v values, except string) string {
	for _, slot := range diskSlots(QEMU, v) {
		if d, err := parseDrive(slot, v[slot]); err == nil && d.isCloudInit() && slot != except {
			return slot
		}
	}
	return ""
}

// checkOneCloudInit rejects a second cloud-init drive. Current and pending drives count, and so does a drive that the same call
// deletes.
func checkOneCloudInit(d drive, have ...values) error {
	for _, v := range have {
		if other := cloudInitSlot(v, d.slot); other != "" && d.isCloudInit() {
			return apiErrorf("%s - cloud-init drive is already attached at '%s'", d.slot, other)
		}
	}
	return nil
}
