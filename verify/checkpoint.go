package verify

import (
	"encoding/base64"
	"strconv"
	"strings"

	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
)

// A checkpoint is what a log states about its tree in a signed note. Only its form has been verified. Source: C2SP tlog-checkpoint and signed-note.
type checkpoint struct {
	host       string // name of the log
	isV1       bool   // a Rekor v1 log wrote it
	size, root string // of the tree, as text
}

// signatureMark begins each line of a note that has a signature.
const signatureMark = "\u2014 "

// parseCheckpoint reads a checkpoint with exactly one signature, that of the log under its own name. The text is signed; what follows it is not, so
// a further line, another name or another encoding would change the id of the commit.
func parseCheckpoint(envelope string) (checkpoint, error) {
	text, signature, _ := strings.Cut(envelope, "\n\n")
	lines := strings.Split(text, "\n")
	if len(lines) < 3 {
		return checkpoint{}, refuse(ReasonBadLogEntry, "no inclusion proof, or one without a checkpoint of origin, size and root")
	}
	c := checkpoint{size: lines[1], root: lines[2]}
	c.host, c.isV1 = hostOf(lines[0])
	encoded, found := strings.CutPrefix(signature, signatureMark+c.host+" ")
	raw, _ := base64.StdEncoding.DecodeString(encoded)
	if !found || base64.StdEncoding.EncodeToString(raw)+"\n" != encoded {
		return checkpoint{}, refuse(ReasonMalformedSignature, "checkpoint has more or other signatures than that of %.80q", c.host)
	}
	return c, nil
}

// hostOf returns the name of the log that the origin of a checkpoint contains, and whether it is a Rekor v1 log. The origin of such a log ends in the
// number of a tree. The version label that a signature stores with the entry cannot decide: gitsign writes the same label for both versions.
func hostOf(origin string) (host string, isV1 bool) {
	const separator = " - "
	at := strings.LastIndex(origin, separator)
	if at < 0 {
		return origin, false
	}
	tree := origin[at+len(separator):]
	if tree == "" || strings.Trim(tree, "0123456789") != "" {
		return origin, false
	}
	return origin[:at], true
}

// isOf reports whether the checkpoint is of the tree that an inclusion proof is for.
func (c checkpoint) isOf(proof *protorekor.InclusionProof) bool {
	return c.size == strconv.FormatInt(proof.GetTreeSize(), 10) && c.root == base64.StdEncoding.EncodeToString(proof.GetRootHash())
}
