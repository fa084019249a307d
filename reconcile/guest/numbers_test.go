package guest_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
)

// reply answers every request with one body.
type reply string

func (r reply) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(r))),
	}, nil
}

// TestQuirkNumbersComeAsTextOrNumber: a release that prints a value as a JSON number and one that prints it as a string make
// no difference, nor do booleans that one prints as true.
func TestQuirkNumbersComeAsTextOrNumber(t *testing.T) {
	printed := map[string]string{
		"numbers": `{"key":"memory","value":4096},{"key":"cores","value":2},{"key":"onboot","value":1},{"key":"cpulimit","value":1.5}`,
		"strings": `{"key":"memory","value":"4096"},{"key":"cores","value":"2"},{"key":"onboot","value":"1"},{"key":"cpulimit","value":"1.5"}`,
		"mixed":   `{"key":"memory","value":"current=4096"},{"key":"cores","value":2},{"key":"onboot","value":true},{"key":"cpulimit","value":"1.50"}`,
	}
	d := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: labVM}}
	for key, text := range map[string]string{"cores": "2", "cpulimit": "1.5", "memory": "4096", "onboot": "1"} {
		d.Intents = append(d.Intents, guest.Intent{Key: key, Verb: guest.Want, Text: text})
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("gitops@pve!agent=00000000-0000-4000-8000-000000000000"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, keys := range printed {
		t.Run(name, func(t *testing.T) {
			body := reply(fmt.Sprintf(`{"data":[%s,{"key":"digest","value":"7b1b4fdce0cd3712500200528dad35b1a7b560fe"}]}`, keys))
			client, err := proxmox.New(proxmox.Options{Endpoints: []string{"https://pve1"}, TokenFile: token, Transport: body})
			if err != nil {
				t.Fatal(err)
			}
			o, err := client.Observe(t.Context(), cluster.Row{Kind: guest.VirtualMachine, VMID: labVM, Node: "pve1", Status: guest.StatusRunning})
			if err != nil || len(o.Keys) != 4 {
				t.Fatalf("observe: got %v, %v, want four keys", o.Keys, err)
			}
			if diff := cmp.Diff([]guest.Change(nil), guest.Diff(d, o)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}
