package sigtest

import (
	"crypto"
	"fmt"

	"gitops-agent/internal/sigtest/rekor"
)

// rekorLog is one generation of a Rekor log.
type rekorLog struct {
	*rekor.Log
	window window
}

// newRekorV1 returns a log with an ECDSA key that signs the time of each entry.
func newRekorV1(src keySource, w window) (*rekorLog, error) {
	key, err := src.ecdsa(p256, "log")
	if err != nil {
		return nil, err
	}
	log, err := rekor.NewV1(src.options.Name, src.generation, key)
	return &rekorLog{log, w}, err
}

// newRekorV2 returns a log that signs only checkpoints and records no times.
func newRekorV2(src keySource, w window) (*rekorLog, error) {
	key, err := src.rekorV2Key()
	if err != nil {
		return nil, err
	}
	log, err := rekor.NewV2(src.options.Name, src.generation, key)
	return &rekorLog{log, w}, err
}

// rekorV2Key derives the key of a Rekor v2 log.
func (k keySource) rekorV2Key() (crypto.Signer, error) {
	switch kind := k.options.RekorV2Key; kind {
	case "", Ed25519:
		return k.ed25519("log")
	case P256:
		return k.ecdsa(p256, "log")
	case P384:
		fallthrough
	default:
		return nil, fmt.Errorf("choose log's key: got %q, want %s or %s", string(kind), Ed25519, P256)
	}
}
