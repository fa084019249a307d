package wire

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// TLSConfig returns the trust that a file of authorities and fingerprints configure: the system's authorities, the authorities of the file, pinned
// certificates, or the last two together. Nothing trusts every certificate.
func TLSConfig(caFile string, fingerprints []string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		pool, err := readPool(caFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	if len(fingerprints) == 0 {
		return config, nil
	}
	pins, err := parsePins(fingerprints)
	if err != nil {
		return nil, err
	}
	config.VerifyConnection = pins.verify
	// Certificates that Proxmox creates are self-signed or contain no address. A pin is stricter than a chain: it accepts one certificate.
	config.InsecureSkipVerify = caFile == ""
	return config, nil
}

func readPool(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path) //nolint:gosec // G304: the operator names the file in the agent's own configuration
	if err != nil {
		return nil, fmt.Errorf("read CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read CA file %s: no certificate in PEM form", path)
	}
	return pool, nil
}

// pins are SHA-256 digests of the accepted server certificates.
type pins [][sha256.Size]byte

func parsePins(texts []string) (pins, error) {
	var parsed pins
	var problems []error
	for _, text := range texts {
		digest, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
		if err != nil || len(digest) != sha256.Size {
			problems = append(problems, fmt.Errorf("fingerprint %q: want 32 bytes of SHA-256 in hex", text))
			continue
		}
		parsed = append(parsed, [sha256.Size]byte(digest))
	}
	return parsed, errors.Join(problems...)
}

// verify rejects a connection whose leaf certificate is not pinned. It also runs for resumed sessions.
func (p pins) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return &PinError{"server sent no certificate"}
	}
	got := sha256.Sum256(state.PeerCertificates[0].Raw)
	if !slices.Contains(p, got) {
		return &PinError{fmt.Sprintf("server certificate has fingerprint %s, which is not pinned", hex.EncodeToString(got[:]))}
	}
	return nil
}

// PinError is the error of a connection to a server whose certificate is not pinned.
type PinError struct{ text string }

func (e *PinError) Error() string { return e.text }
