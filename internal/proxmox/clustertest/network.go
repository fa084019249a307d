package clustertest

import (
	"errors"
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
)

// testNetwork changes a network device. Proxmox generates a new MAC address if the value contains none, so a change has to contain the address.
func testNetwork(t *testing.T, s *suite) {
	m := s.newVM(t, map[string]string{"net0": "virtio,bridge=" + s.Bridge})
	address := addressOf(m.key(t, "net0"))
	if len(address) != 17 {
		t.Fatalf("got net0 %q, want an address", m.key(t, "net0"))
	}
	m.set(t, map[string]string{"net0": "virtio=" + address + ",bridge=" + s.Bridge + ",firewall=1"})
	if got := m.key(t, "net0"); addressOf(got) != address || !strings.Contains(got, "firewall=1") {
		t.Errorf("got net0 %q, want the address %s and the firewall", got, address)
	}
	m.set(t, map[string]string{"net0": "virtio,bridge=" + s.Bridge})
	if got := m.key(t, "net0"); addressOf(got) == address {
		t.Errorf("got net0 %q, want a new address, because none was sent", got)
	}
}

// addressOf returns the MAC address in the value of a virtual machine's network device.
func addressOf(device string) string {
	_, rest, _ := strings.Cut(device, "=")
	address, _, _ := strings.Cut(rest, ",")
	return address
}

// testCloudInit writes a cloud-init drive again. The password reads as stars.
func testCloudInit(t *testing.T, s *suite) {
	m := s.newVM(t, map[string]string{"ide2": s.Storage + ":cloudinit", "net0": "virtio,bridge=" + s.Bridge})
	const password = "clustertest-password"
	change := m.call(cluster.OpConfig, map[string]string{
		"ciuser": "ops", "cipassword": password, "ipconfig0": "ip=192.0.2.10/24,gw=192.0.2.1", "nameserver": "192.0.2.53",
		"sshkeys": "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIMjJIgmBwGHzxaes7iXh%2Fdc%2FpDtJpQGzKyEmvFJ5xPfE%20ops%40lan%0A",
	})
	change.Secrets = map[string]string{"cipassword": "clustertest"}
	m.run(t, change)
	seen := m.observe(t)
	if got := seen.Keys["cipassword"].Text; strings.Trim(got, "* ") != "" || got == "" {
		t.Errorf("got a password of %d characters that are not stars, want stars", len(got))
	}
	if got := seen.Keys["ipconfig0"].Text; got != "ip=192.0.2.10/24,gw=192.0.2.1" {
		t.Errorf("got ipconfig0 %q, want it as sent", got)
	}
	m.do(t, cluster.OpCloudInit, nil)
	if got := m.key(t, "ide2"); !strings.Contains(got, "cloudinit") || !strings.Contains(got, "media=cdrom") {
		t.Errorf("got ide2 %q, want the cloud-init drive", got)
	}

	refused := m.call(cluster.OpConfig, map[string]string{"cipassword": password, "memory": "lots"})
	refused.Secrets = map[string]string{"cipassword": "clustertest"}
	if _, err := m.try(t, refused); err == nil || errors.Is(err, cluster.ErrOutcomeUnknown) || strings.Contains(err.Error(), password) {
		t.Errorf("got error %v, want a refusal without the password", err)
	}
}
