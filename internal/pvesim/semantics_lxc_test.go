package pvesim

import (
	"strings"
	"testing"
)

func TestContainerLifecycle(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if err := c.sim.AddVolume("local:vztmpl/debian-13.tar.zst", 1<<20); err != nil {
			t.Fatal(err)
		}
		got := c.task("POST", "/nodes/pve1/lxc", "vmid=200", "ostemplate=local:vztmpl/debian-13.tar.zst", "rootfs=local-lvm:8",
			"net0=bridge=vmbr0,name=eth0", "nameserver=1.1.1.1,9.9.9.9")
		if got != "OK" {
			t.Fatalf("create: got %s, want OK", got)
		}
		const ct = "/nodes/pve1/lxc/200"
		conf := c.ok("GET", ct+"/config").fields(t)
		if conf["rootfs"] != "local-lvm:vm-200-disk-0,size=8G" || conf["nameserver"] != "1.1.1.1 9.9.9.9" || conf["ostype"] != "debian" ||
			!strings.HasSuffix(conf["net0"], ",type=veth") || conf["unprivileged"] != "1" {
			t.Errorf("config: got %v, want the defaults filled in", conf)
		}
		checkReply(t, "stop when stopped", c.call("POST", ct+"/status/stop"), 500, "CT 200 not running")
		if got := c.task("POST", ct+"/status/start"); got != "OK" {
			t.Fatalf("start: got %s, want OK", got)
		}
		checkReply(t, "start when running", c.call("POST", ct+"/status/start"), 500, "CT 200 already running")
		c.ok("PUT", ct+"/config", "memory=1024", "nameserver=8.8.8.8")
		now := c.ok("GET", ct+"/config", "current=1").fields(t)
		if now["memory"] != "1024" || now["nameserver"] != "1.1.1.1 9.9.9.9" {
			t.Errorf("running: got memory %s nameserver %s, want the one applied and the other pending", now["memory"], now["nameserver"])
		}
		checkReply(t, "unprivileged", c.call("PUT", ct+"/config", "unprivileged=0"), 500, "unable to modify read-only option: 'unprivileged'")
		checkReply(t, "destroy running", c.call("DELETE", ct), 500, "unable to destroy CT 200 - container is running")
		if got := c.task("POST", ct+"/status/shutdown"); got != "OK" {
			t.Errorf("shutdown: got %s, want OK", got)
		}
		if got := c.task("DELETE", ct); got != "OK" || c.sim.volume("local-lvm:vm-200-disk-0") != nil {
			t.Errorf("destroy: got %s, want OK and no volume", got)
		}
	})
}
