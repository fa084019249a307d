package agent

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"gitops-agent/internal/tuftest"
)

// memoryFetcher serves the files of a mirror, one of them replaced.
type memoryFetcher struct {
	mirror   *tuftest.Mirror
	replaced string
	content  []byte
}

func (f memoryFetcher) DownloadFile(url string, limit int64, _ time.Duration) ([]byte, error) {
	path := strings.TrimPrefix(url, f.mirror.URL)
	content := f.mirror.Get(path)
	if path == f.replaced || strings.HasSuffix(path, f.replaced) {
		content = f.content
	}
	switch {
	case content == nil:
		return nil, &metadata.ErrDownloadHTTP{StatusCode: 404, URL: url}
	case int64(len(content)) > limit:
		return nil, &metadata.ErrDownloadLengthMismatch{Msg: "too long"}
	}
	return content, nil
}

// FuzzTUFMetadata: whatever a mirror serves in place of one of its files, and whatever the pinned root is, the result is an error or what the keys signed.
func FuzzTUFMetadata(f *testing.F) {
	m := tuftest.New(f)
	want := []byte(`{"mediaType": "what was signed"}`)
	m.Publish(want, tuftest.Soon())
	files := []string{"/2.root.json", "/timestamp.json", "/1.snapshot.json", "/1.targets.json", "trusted_root.json", "pin"}
	for i, name := range files {
		f.Add(uint8(i), m.Get(name))
		f.Add(uint8(i), []byte(`{"signed": {"_type": "root", "roles": {}}, "signatures": []}`))
		f.Add(uint8(i), bytes.Repeat([]byte(`{"a":`), 1000))
	}
	pin := m.Get("/1.root.json")
	f.Add(uint8(5), pin)
	f.Fuzz(func(t *testing.T, which uint8, content []byte) {
		name, root := files[int(which)%len(files)], pin
		if name == "pin" {
			root = content
		}
		cache := t.TempDir()
		got, err := fetchTrustedRoot(m.URL, root, cache, memoryFetcher{m, name, content})
		if err == nil && !bytes.Equal(got, want) {
			t.Errorf("got %q with %s replaced by %q, want what was signed, or an error", got, name, content)
		}
		if err != nil && got != nil {
			t.Errorf("got %q with the error %v, want nothing", got, err)
		}
		_ = os.RemoveAll(cache)
	})
}
