package pvesim

import (
	"strings"
	"testing"
)

func TestSecretsAreMaskedAndKeysChecked(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "ide2: local-lvm:cloudinit\n")
		c.ok("PUT", vm100+"/config", "cipassword=hunter2")
		if got := c.config(100)["cipassword"]; got != "**********" {
			t.Errorf("cipassword: got %s, want it masked", got)
		}
		if text := c.sim.Config(100); strings.Contains(text, "hunter2") || !strings.Contains(text, "cipassword: $5$") {
			t.Errorf("file: got %q, want a hash", text)
		}
		got := c.call("PUT", vm100+"/config", "sshkeys=ssh-ed25519 AAAA x")
		if got.status != 400 || !strings.Contains(got.body, "invalid urlencoded string") {
			t.Errorf("raw key: got %d %s, want 400", got.status, got.body)
		}
		checkReply(t, "bad key", c.call("PUT", vm100+"/config", "sshkeys=not%20a%20key"), 500, "SSH public key validation error")
		const key = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIMjJIgmBwGHzxaes7iXh%2Fdc%2F0gj2H%2BIRWkEN5c9tx7Wa%20a%40h%0A"
		c.ok("PUT", vm100+"/config", "sshkeys="+key)
		if got := c.config(100)["sshkeys"]; got != key {
			t.Errorf("sshkeys: got %s, want them as sent", got)
		}
	})
}

func TestPrivileges(t *testing.T) {
	opts := Options{Tokens: append(DefaultTokens(), Token{ID: "u@pve!disk", Secret: "s", ACL: []ACL{
		{Path: "/vms/100", Privileges: []string{"VM.Audit", "VM.Config.CPU"}},
	}})}
	bubble(t, opts, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "scsi0: local-lvm:1\n")
		addVM(t, c.sim, 101, "")
		u := c.as("u@pve!disk")
		u.ok("PUT", vm100+"/config", "cores=2")
		checkReply(t, "disk key", u.call("PUT", vm100+"/config", "scsi1=local-lvm:1"), 403, "Permission check failed (/vms/100, VM.Config.Disk)")
		checkReply(t, "other guest", u.call("GET", "/nodes/pve1/qemu/101/config"), 403, "Permission check failed (/vms/101, VM.Audit)")
		checkReply(t, "power", u.call("POST", vm100+"/status/start"), 403, "Permission check failed (/vms/100, VM.PowerMgmt)")
		if got := strings.Count(u.ok("GET", "/cluster/resources", "type=vm").body, "vmid"); got != 1 {
			t.Errorf("inventory of a limited token: got %d guests, want 1", got)
		}
		checkReply(t, "root-only key", c.call("PUT", vm100+"/config", "args=-x"), 500, "only root can set 'args' config")
		c.sim.SetPrivileges("u@pve!disk", nil)
		checkReply(t, "revoked", u.call("GET", vm100+"/config"), 403, "Permission check failed (/vms/100, VM.Audit)")
		u.token = "u@pve!disk=wrong"
		got := u.call("GET", "/version")
		checkReply(t, "wrong secret", got, 401, "Authentication failed!")
		if got.body != "" {
			t.Errorf("body of a 401: got %q, want none", got.body)
		}
	})
}
