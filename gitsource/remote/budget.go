package remote

import (
	"fmt"
	"io"

	"gitops-agent/gitsource/packs"
)

// A budgetReader reads from a remote until the fetch's allowance is used up.
type budgetReader struct {
	r         io.Reader
	remaining *int64 // bytes, shared by all streams of one fetch
	meter     *meter // of the connection; nil without one
}

func (m *budgetReader) Read(p []byte) (int, error) {
	if *m.remaining <= 0 {
		return 0, fmt.Errorf("the fetch is %w", packs.ErrTooLarge)
	}
	if int64(len(p)) > *m.remaining {
		p = p[:*m.remaining]
	}
	n, err := m.r.Read(p)
	*m.remaining -= int64(n)
	if m.meter == nil {
		return n, err
	}
	m.meter.used.Add(int64(n))
	if exceeded := m.meter.err(); err != nil && exceeded != nil {
		err = exceeded // package ssh returns io.EOF
	}
	return n, err
}
