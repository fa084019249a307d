package policy

import (
	"testing"

	"gitops-agent/reconcile/guest"
)

// BenchmarkGuest prepares and judges one guest with four policies.
func BenchmarkGuest(b *testing.B) {
	set, problems := Compile([]Rule{
		rule(func(r *Rule) {
			r.Name, r.When = "a", `new.labels.?stage.orValue("") == "prod" && size(new.networks) < 2`
		}),
		rule(func(r *Rule) {
			r.Name, r.When = "b", `new.networks.exists(n, n.bridge == "vmbr1" && !("ops" in n.signers))`
		}),
		rule(func(r *Rule) { r.Name, r.When = "c", `new.memory > 64 * 1024 * 1024 * 1024` }),
		rule(func(r *Rule) { r.Name, r.When = "d", `!new.name.matches("^[a-z]+(-[a-z]+)*-[0-9]+$")` }),
	})
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	live := &guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Digest: "d", Keys: map[string]guest.Value{}}
	for key, text := range map[string]string{
		"agent": "1", "boot": "order=scsi0;net0", "cores": "2", "cpu": "host", "description": "serves the web\n", "memory": "2048", "name": "web-1", "ostype": "l26", "sockets": "1",
		"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20", "net1": "virtio=BC:24:11:00:00:02,bridge=vmbr2", "scsi0": "local-lvm:vm-1-disk-0,discard=on,size=32G", "tags": "prod;team-web",
	} {
		live.Keys[key] = guest.Value{Text: text, Set: true}
	}
	d := &guest.Desired{Ref: live.Ref, Labels: map[string]string{"stage": "prod"}, Intents: []guest.Intent{text("memory", "4096"), want("net0", map[string]string{"bridge": "vmbr0"})}}
	b.Run("prepare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewGuest(d, live, nil)
		}
	})
	g := NewGuest(d, live, nil)
	b.Run("judge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if f := set.Guest(g, Place{}); len(f) > 0 {
				b.Fatal(f)
			}
		}
	})
	b.Run("wanted", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if f := set.Wanted(d, live, nil, Place{}); len(f) > 0 {
				b.Fatal(f)
			}
		}
	})
}
