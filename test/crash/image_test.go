//go:build integration

package crash

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
)

// imageServer is the server of the files, from which the config of the agents allows downloads.
const imageServer = "images.test"

func (o *thing) url() string { return fmt.Sprintf("https://%s/%s.qcow2", imageServer, o.id) }

// checksum returns the checksum of the file that the manifest describes.
func (o *thing) checksum() string {
	sum := sha256.Sum256([]byte(o.text))
	return hex.EncodeToString(sum[:])
}

// volume returns the file that the manifest describes.
func (o *thing) volume() string {
	return fmt.Sprintf("local:import/%s-%.12s.qcow2", o.id, o.checksum())
}

// publish puts the file of an Image on its server, in place of the one before.
func (w *world) publish(o *thing) {
	w.Helper()
	w.post("/web", map[string]any{"url": o.url(), "size": 64 << 20, "checksums": map[string]string{"sha256": o.checksum()}, "format": "qcow2", "virtual_size": 1 << 30})
}

// files returns the disk images on a node.
func (w *world) files() []string {
	w.Helper()
	var content struct{ Data []struct{ VolID string } }
	w.call("GET", "/nodes/pve1/storage/local/content?content=import", "", &content)
	var files []string
	for _, row := range content.Data {
		files = append(files, row.VolID)
	}
	return files
}

// prune says that the present file of an Image must be deleted, if the Image prunes.
func (w *world) prune(o *thing) {
	w.Helper()
	if o.prunes() {
		w.post("/announce", map[string]any{"volume": o.volume()})
		o.must(http.MethodDelete)
	}
}
