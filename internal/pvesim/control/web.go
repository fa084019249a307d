package control

import (
	"net/http"

	"gitops-agent/internal/pvesim"
)

// publishFile puts a file on a web server. The file exists only as what the request says of it.
func publishFile(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	var q struct {
		URL         string            `json:"url"`
		Size        int64             `json:"size"`
		Checksums   map[string]string `json:"checksums"`
		Format      string            `json:"format"`
		VirtualSize int64             `json:"virtual_size"`
	}
	if !readJSON(w, r, &q) {
		return
	}
	sim.Publish(q.URL, pvesim.WebFile{Size: q.Size, Checksums: q.Checksums, Format: q.Format, VirtualSize: q.VirtualSize})
	w.WriteHeader(http.StatusNoContent)
}
