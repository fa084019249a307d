package remote

import (
	"fmt"
	"io"
	"os"

	"gitops-agent/gitsource/packs"
)

const maxSmallFile = 1 << 20 // bytes of a key, a token, certificates or a file of git

// ReadSmallFile reads a file of at most 1 MiB.
func ReadSmallFile(name string) ([]byte, error) {
	f, err := os.Open(name) // #nosec G304 -- the name comes from the operator's configuration
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmallFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSmallFile {
		return nil, fmt.Errorf("read %s: %w of %d bytes", name, packs.ErrTooLarge, maxSmallFile)
	}
	return data, nil
}
