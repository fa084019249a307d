package proxmox

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/recordings"
)

// The types of the library that this package uses decode every recorded reply.
func TestLibraryTypesDecodeRecordings(t *testing.T) {
	reads := map[string]func(ctx context.Context, client *Client) error{
		"/nodes":                func(ctx context.Context, client *Client) error { _, err := client.Nodes(ctx); return err },
		"/version":              func(ctx context.Context, client *Client) error { _, err := client.Version(ctx); return err },
		"/pools":                func(ctx context.Context, client *Client) error { _, err := client.Pools(ctx); return err },
		"/cluster/ha/resources": func(ctx context.Context, client *Client) error { _, err := client.HA(ctx); return err },
	}
	replies := make(map[string]int)
	for _, e := range recordings.Exchanges(t) {
		path := strings.TrimPrefix(e.URL, route.Base)
		read, known := reads[path]
		if !known || e.Method != http.MethodGet || e.Status != http.StatusOK {
			continue
		}
		replies[path]++
		if err := read(t.Context(), inProcess(t, always(e.Status, e.Reason, e.Reply))); err != nil {
			t.Errorf("%s answered %s: got error %v", path, e.Reply, err)
		}
	}
	for path := range reads {
		if replies[path] == 0 {
			t.Errorf("got no recorded reply of %s, want some", path)
		}
	}
}

// The library alone reads a reply without "data" as the data itself, and null as the zero value.
func TestReadsRequireData(t *testing.T) {
	for _, reply := range []string{`{}`, `{"data":null}`, `{"version":"9.2.11","status":"running"}`, `[]`, `null`, ``, `{"data":{}`} {
		client := inProcess(t, always(200, "OK", reply))
		if version, err := client.Version(t.Context()); err == nil {
			t.Errorf("%s: got version %v, want an error", reply, version)
		}
		if granted, err := client.Permissions(t.Context()); err == nil {
			t.Errorf("%s: got permissions %v, want an error", reply, granted)
		}
		if status, _, err := client.Status(t.Context(), vmRow); err == nil {
			t.Errorf("%s: got status %v, want an error", reply, status)
		}
	}
}
