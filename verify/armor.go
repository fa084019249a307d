package verify

import (
	"bytes"
	"encoding/pem"
	"strings"
)

const (
	armorType  = "SIGNED MESSAGE"
	armorBegin = "-----BEGIN " + armorType + "-----"

	// maxSignature is the largest armored signature, in bytes. A signature with a log entry and a timestamp has about 9,000.
	maxSignature = 128 << 10
)

// unarmor returns the bytes inside a PEM block of type SIGNED MESSAGE. It accepts only the canonical armor, so that the
// same signature cannot be encoded in two ways.
func unarmor(armored []byte) ([]byte, error) {
	switch {
	case len(armored) == 0:
		return nil, refusal(ReasonUnsigned, nil)
	case !strings.HasPrefix(string(armored), armorBegin):
		first, _, _ := bytes.Cut(armored, []byte("\n"))
		return nil, refuse(ReasonNotSigstore, "signature begins with %.40q", first)
	case len(armored) > maxSignature:
		return nil, refuse(ReasonMalformedSignature, "got %d bytes, want at most %d", len(armored), maxSignature)
	}
	block, _ := pem.Decode(armored)
	if block == nil {
		return nil, refuse(ReasonMalformedSignature, "not a PEM block")
	}
	if !bytes.Equal(armor(block.Bytes), armored) {
		return nil, refuse(ReasonMalformedSignature, "armor is not canonical")
	}
	return block.Bytes, nil
}

func armor(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: armorType, Bytes: der})
}
