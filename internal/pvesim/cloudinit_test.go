package pvesim

import (
	"encoding/json"
	"strings"
	"testing"
)

// imageRows returns the keys of the cloud-init image as "value>pending", with "-" for a pending delete.
func imageRows(t *testing.T, c *client) map[string]string {
	t.Helper()
	var rows []struct {
		Key     string
		Value   *string
		Pending *string
		Delete  int
	}
	if err := json.Unmarshal(c.ok("GET", vm100+"/cloudinit").data(t), &rows); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, r := range rows {
		s := ""
		if r.Value != nil {
			s = *r.Value
		}
		if r.Pending != nil {
			s += ">" + *r.Pending
		}
		if r.Delete > 0 {
			s += ">-"
		}
		out[r.Key] = s
	}
	return out
}

func TestCloudInitPendingUntilRegenerated(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "name: web\nide2: local-lvm:cloudinit\nciuser: ops\nsearchdomain: lan\nnet0: virtio=BC:24:11:00:00:01,bridge=vmbr0\nipconfig0: ip=dhcp\n")
		c.task("POST", vm100+"/status/start")
		c.ok("PUT", vm100+"/config", "ciuser=root", "delete=searchdomain", "nameserver=1.1.1.1", "cipassword=$5$a$b")
		rows := imageRows(t, c)
		for key, want := range map[string]string{
			"ciuser": "ops>root", "searchdomain": ">-", "nameserver": ">1.1.1.1", "ipconfig0": "", "cipassword": "**********",
		} {
			if rows[key] != want {
				t.Errorf("%s: got %q, want %q", key, rows[key], want)
			}
		}
		if got := c.ok("GET", vm100+"/config", "current=1").fields(t)["ciuser"]; got != "root" {
			t.Errorf("ciuser in the config: got %s, want root at once", got)
		}
		if !strings.Contains(c.sim.Config(100), "[special:cloudinit]\nadded: nameserver\nciuser: ops\n") {
			t.Errorf("file: got %q, want a section with what the image holds", c.sim.Config(100))
		}
		before := c.sim.Digest(100)
		c.ok("PUT", vm100+"/config", "delete=ide2")
		c.ok("PUT", vm100+"/config", "ide2=local-lvm:cloudinit")
		c.ok("PUT", vm100+"/cloudinit")
		if got := c.config(100)["ide2"]; strings.Contains(got, "size=") {
			t.Errorf("drive after it was written: got %s, want a size after the next start only", got)
		}
		if rows := imageRows(t, c); rows["ciuser"] != "root" || rows["searchdomain"] != "" || c.sim.Digest(100) == before {
			t.Errorf("regenerated: got %v, want nothing pending and another digest", rows)
		}
	})
}

func TestCloudInitDump(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "name: web\nide2: local-lvm:cloudinit\nciuser: root\nciupgrade: 0\nsearchdomain: lan home\nnameserver: 1.1.1.1\n"+
			"net0: virtio=BC:24:11:00:00:01,bridge=vmbr0\nipconfig0: ip=10.0.0.5/23,gw=10.0.0.1,ip6=auto\n")
		dump := func(part string) string {
			t.Helper()
			var s string
			if err := json.Unmarshal(c.ok("GET", vm100+"/cloudinit/dump", "type="+part).data(t), &s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		for part, want := range map[string]string{
			"user": "#cloud-config\nhostname: web\nmanage_etc_hosts: true\nfqdn: web.lan home\nuser: root\ndisable_root: False\nchpasswd:\n  expire: False\n",
			"network": "version: 1\nconfig:\n    - type: physical\n      name: eth0\n      mac_address: 'bc:24:11:00:00:01'\n      subnets:\n" +
				"      - type: static\n        address: '10.0.0.5'\n        netmask: '255.255.254.0'\n        gateway: '10.0.0.1'\n      - type: ipv6_slaac\n" +
				"    - type: nameserver\n      address:\n      - '1.1.1.1'\n      search:\n      - 'lan'\n      - 'home'\n",
		} {
			if got := dump(part); got != want {
				t.Errorf("%s: got %q, want %q", part, got, want)
			}
		}
		before := dump("meta")
		c.ok("PUT", vm100+"/config", "name=other")
		if got := dump("meta"); got == before || !strings.HasPrefix(got, "instance-id: ") {
			t.Errorf("instance after a change of name: got %q, want another than %q", got, before)
		}
		c.ok("PUT", vm100+"/config", "cicustom=user=local:snippets/u.yaml")
		checkReply(t, "missing snippet", c.call("PUT", vm100+"/cloudinit"), 500, "volume 'local:snippets/u.yaml' does not exist")
	})
}
