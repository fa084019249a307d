package proxmox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNodes(t *testing.T) {
	client := inProcess(t, byPath(t, map[string]reply{
		"GET /nodes": ok(`[{"node":"pve2","status":"offline"},{"node":"pve1","status":"online","level":""}]`),
	}))
	got, err := client.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Node{{Name: "pve1", Online: true}, {Name: "pve2", Online: false}}, got); diff != "" {
		t.Errorf("nodes (-want +got)\n%s", diff)
	}
	if got, err := inProcess(t, always(200, "OK", `{"data":[{"node":"a/b"}]}`)).Nodes(t.Context()); err == nil {
		t.Errorf("got %v for a bad name, want an error", got)
	}
}
