package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// imageYAML is an Image with a checksum of one repeated digit.
func imageYAML(name, url, digit string, fields ...string) string {
	return fmt.Sprintf("---\napiVersion: proxmox.gitops/v1alpha1\nkind: Image\nmetadata: {name: %s}\nspec:\n  url: %s\n  checksum: sha256:%s\n  %s\n",
		name, url, strings.Repeat(digit, 64), strings.Join(fields, "\n  "))
}

// TestImages: the nodes download the files of Images of every content, and guests are created from them.
func TestImages(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"cluster.yaml": clusterYAML,
		"images.yaml": imageYAML("debian", "https://images.lab.test/debian.qcow2", "a", "storage: local", "nodes: [pve1]", "content: import") +
			imageYAML("packed", "https://images.lab.test:8443/packed.img.zst", "b", "storage: shared", "content: iso", "decompression: zst") +
			imageYAML("installer", "http://other.lab.test/installer.iso", "c", "storage: local", "nodes: [pve1]", "content: iso") +
			imageYAML("base", "https://images.lab.test/base.tar.zst", "d", "storage: local", "nodes: [pve1]", "content: vztmpl"),
		"guests.yaml": machine("web", "vmid: 101", "node: pve1", "source: {image: {image: debian}}", "disks: {scsi0: {storage: local-lvm}}") + "---\n" +
			machine("live", "vmid: 102", "node: pve1", "source: {iso: {image: packed}}", "disks: {scsi0: {storage: local-lvm, size: 4Gi}}") + "---\n" +
			machine("setup", "vmid: 103", "node: pve1", "source: {iso: {image: installer}}", "disks: {scsi0: {storage: local-lvm, size: 4Gi}}") + "---\n" +
			"apiVersion: proxmox.gitops/v1alpha1\nkind: Container\nmetadata: {name: ct}\nspec: {vmid: 104, node: pve1, source: {template: {image: base}}, rootfs: {storage: local-lvm, size: 4Gi}}\n",
	})
	r := sandboxed(t, "--once", "-o", "json", dir)
	converged := r.lastOfState["converged"].Report
	if r.status != 0 || converged == nil {
		t.Fatalf("got status %d, want it converged\n%s\n%s", r.status, r.out, r.notes)
	}
	if assumed := r.lastOfState["assumed"].Assumed; len(assumed.Images) != 4 || strings.Contains(strings.Join(assumed.Volumes, " "), "debian-aaaa") {
		t.Errorf("got the assumed %+v, want four files of Images, and none of them on a storage", assumed)
	}
}

// TestFaults: the control endpoint injects a fault, which the agent meets.
func TestFaults(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"cluster.yaml": clusterYAML, "web.yaml": machine("web", "vmid: 101", created)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &watched{want: regexp.MustCompile(`text.*' (http://\S+)/faults`), found: make(chan string, 1)}
	ended := make(chan error, 1)
	go func() { ended <- fast(t).run(ctx, []string{"--control", "127.0.0.1:0", dir}, nil, out, out) }()
	var url string
	select {
	case url = <-out.found:
	case err := <-ended:
		t.Fatalf("got %v, want the address of the endpoint:\n%s", err, out.text())
	case <-time.After(time.Minute):
		t.Fatalf("got no address of the endpoint:\n%s", out.text())
	}
	for path, body := range map[string]string{"/faults": `{"kind":"error-text","writes":true,"text":"no space","times":-1}`, "/state": ""} {
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		request, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = reply.Body.Close()
		if reply.StatusCode >= 300 {
			t.Errorf("%s: got %s", path, reply.Status)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want it stopped", err)
	}
}

// watched is an output in which a test waits for a text.
type watched struct {
	want  *regexp.Regexp
	found chan string

	mu      sync.Mutex
	written strings.Builder
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written.Write(p)
	if m := w.want.FindStringSubmatch(w.written.String()); m != nil {
		select {
		case w.found <- m[1]:
		default:
		}
	}
	return len(p), nil
}

func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written.String()
}
