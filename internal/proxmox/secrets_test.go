package proxmox

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Errors and logs do not contain the token, a guest's password or a secret of the call, even if the server sends them back.
func TestErrorsContainNoSecrets(t *testing.T) {
	const password, named = "correct horse battery", "s3cret of a snippet"
	var logged bytes.Buffer
	echo := fmt.Sprintf("no such user %s or password %s or %s", testSecret, password, named)
	client := newClient(t, Options{
		Endpoints: []string{"https://pve1.test"},
		Transport: always(400, echo, fmt.Sprintf(`{"message":%q,"errors":{"cipassword":%q,"args":%q}}`, echo, "bad value "+password, "bad value "+named)),
		Logger:    slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	_, err := client.Do(t.Context(), cluster.Call{
		Op: cluster.OpConfig, Kind: guest.VirtualMachine, Node: "pve1", VMID: 100,
		Params: map[string]string{"cipassword": password, "args": named}, Secrets: map[string]string{"args": "snippet"},
	}, nil)
	var api *wire.APIError
	if !errors.As(err, &api) {
		t.Fatalf("got error %v, want an *APIError", err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", err, err, *api), logged.String()} {
		if strings.Contains(text, testSecret) || strings.Contains(text, password) || strings.Contains(text, named) {
			t.Errorf("got a secret in %s", text)
		}
	}
	if !strings.Contains(logged.String(), "/nodes/pve1/qemu/100/config") {
		t.Errorf("got log %q, want a line about the request", logged.String())
	}
}

// Secrets are removed from an error after its text was classified, because a password may be a word of Proxmox's text.
func TestSecretsAreRemovedAfterClassifying(t *testing.T) {
	client := inProcess(t, always(500, "VM is locked (backup)", ""))
	_, err := client.Do(t.Context(), cluster.Call{
		Op: cluster.OpConfig, Kind: guest.VirtualMachine, Node: "pve1", VMID: 100, Params: map[string]string{"cipassword": "locked"},
	}, nil)
	if !errors.Is(err, cluster.ErrLocked) || strings.Contains(err.Error(), "VM is locked") {
		t.Errorf("got error %v, want ErrLocked without the password", err)
	}
}
