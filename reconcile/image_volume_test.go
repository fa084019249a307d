package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// TestWaitsForAFileThatAnImageMakes names the file of an Image by its volume, in each place of a manifest that may: the guest waits for the Image as it does if it names the
// Image, and nothing is sent that Proxmox would refuse. The download is held back until the guest waits.
func TestWaitsForAFileThatAnImageMakes(t *testing.T) {
	const installer, template = "local:iso/debian-13-" + "f00dfacef00d.iso", "local:vztmpl/debian-13-" + "f00dfacef00d.tar.zst"
	sum := strings.Repeat("f00dface", 8)
	of := func(content, file string) string {
		url := "https://images.example/" + file
		return fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: Image\nmetadata: {name: debian-13}\nspec: {url: %q, checksum: %q, storage: local, nodes: [pve1], content: %s}\n", url, "sha256:"+sum, content)
	}
	withSource := func(source string) string {
		text := vmYAML("web-1", 201, "disks: {scsi0: {storage: local-lvm, size: 4Gi}}")
		return strings.Replace(text, "source: {clone: {name: tmpl-debian-12}}", "source: "+source, 1)
	}
	tests := map[string]struct {
		content, file, before, after string // before, the guest is as in this manifest; "" if it does not exist
	}{
		"disk_image": {content: "import", file: "d.qcow2", after: strings.Replace(imported(), "image: debian-13", `from: "local:import/debian-13-f00dfacef00d.qcow2"`, 1)},
		"installer":  {content: "iso", file: "d.iso", after: withSource(`{iso: {volume: "` + installer + `"}}`)},
		"template":   {content: "vztmpl", file: "d.tar.zst", after: strings.Replace(dnsYAML(), "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", template, 1)},
		"drive_of_a_new_guest": {
			content: "iso", file: "d.iso", after: vmYAML("web-1", 201, `disks: {ide3: {iso: "`+installer+`"}}`),
		},
		"drive_of_a_guest": {
			content: "iso", file: "d.iso", before: vmYAML("web-1", 201), after: vmYAML("web-1", 201, `disks: {ide3: {iso: "`+installer+`"}}`),
		},
		"drive_of_a_guest_that_starts": {
			content: "iso", file: "d.iso", before: vmYAML("web-1", 201), after: vmYAML("web-1", 201, `disks: {ide3: {iso: "`+installer+`"}}`, "state: running"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithImage(t, func(t *testing.T, l *lab) {
				delete(l.files, "image.yaml")
				delete(l.files, "web.yaml")
				if test.before != "" {
					l.files["web.yaml"] = test.before
				}
				l.push("before", alice)
				defer l.start()()
				l.converge()
				l.sim.ResetCounters()

				l.files["image.yaml"], l.files["web.yaml"] = of(test.content, test.file), test.after
				l.push("after", alice) // the server does not have the file yet
				guest := func() report.Guest {
					i := slices.IndexFunc(l.engine.Report().Guests, func(g report.Guest) bool { return g.VMID == 201 || g.VMID == 210 })
					if i < 0 {
						return report.Guest{}
					}
					return l.engine.Report().Guests[i]
				}
				waits := func() bool {
					return slices.ContainsFunc(guest().Conditions, func(c plan.Condition) bool {
						return c.Type == plan.WaitsFor && strings.Contains(c.Message, "Image/debian-13")
					})
				}
				eventually(t, "the guest to wait for its Image", waits)
				time.Sleep(10 * time.Minute)
				for route, n := range l.sim.Counters().Routes {
					if n > 0 && !strings.HasPrefix(route, "GET ") && !strings.Contains(route, "/download-url") && route != "PUT /pools" { // the floor
						t.Errorf("got %s sent before the file is there", route)
					}
				}
				if g := guest(); !waits() || g.Health == report.Degraded {
					t.Errorf("got %s with %+v after ten minutes, want it to wait", g.Health, g.Conditions)
				}
				l.sim.Publish("https://images.example/"+test.file, pvesim.WebFile{Size: 1 << 20, Format: formatOf(test.file), VirtualSize: 1 << 30, Checksums: map[string]string{"sha256": sum}})
				l.converge()
				if g := guest(); g.Sync != report.Synced {
					t.Errorf("got %s with %+v, want the guest in sync", g.Sync, g.Conditions)
				}
			})
		})
	}
}

func formatOf(file string) string {
	if strings.HasSuffix(file, ".qcow2") {
		return "qcow2"
	}
	return ""
}
