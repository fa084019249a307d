package encode

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryParameterOfADownloadIsSent compares what is sent with the parameters of POST /nodes/{node}/storage/{storage}/download-url of Proxmox VE 9.2.
func TestEveryParameterOfADownloadIsSent(t *testing.T) {
	parameters := []string{"node", "storage", "content", "filename", "url", "checksum", "checksum-algorithm", "compression", "verify-certificates"}
	without := []string{
		"node",                // in the path alone
		"verify-certificates", // the default is to verify, and the only other value weakens TLS
	}
	want := slices.DeleteFunc(parameters, func(p string) bool { return slices.Contains(without, p) })
	if diff := cmp.Diff(want, downloadParams); diff != "" {
		t.Errorf("parameters (-of the API +sent)\n%s", diff)
	}
}
