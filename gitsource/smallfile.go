package gitsource

import (
	"fmt"
	"io"
	"os"
)

const maxSmallFile = 1 << 20 // bytes of a key, a token, certificates or a file of git

// readSmallFile reads a file of at most 1 MiB.
func readSmallFile(name string) ([]byte, error) {
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
		return nil, fmt.Errorf("read %s: %w of %d bytes", name, ErrTooLarge, maxSmallFile)
	}
	return data, nil
}
