package sigtest_test

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"gitops-agent/internal/sigtest"

	"github.com/google/go-cmp/cmp"
	rekorpb "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// corpusFile holds objects that the real gitsign signed with a private Sigstore. It is optional test material beside the module.
const corpusFile = "../../../shared/corpus/private-stack.jsonl"

// corpus returns the signatures of the commits that gitsign signed, by whether the log was Rekor v2 and whether there is a token.
func corpus(t *testing.T) map[shape][]byte {
	t.Helper()
	file, err := os.Open(corpusFile)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is absent", corpusFile)
	}
	if err != nil {
		t.Fatalf("open corpus: %v", err)
	}
	defer file.Close()
	out := map[shape][]byte{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var object struct {
			Raw      []byte
			Type     string
			HasRekor bool `json:"has_rekor_entry"`
			HasTSA   bool `json:"has_tsa"`
		}
		if err := json.Unmarshal(lines.Bytes(), &object); err != nil {
			t.Fatalf("parse corpus: %v", err)
		}
		if object.Type != "commit" || !object.HasRekor {
			continue
		}
		_, armored := splitCommit(t, string(object.Raw))
		entry, part := rawEntry(t, parseArmor(t, armored)), sigtest.RekorV1
		if entry.IntegratedTime == 0 {
			part = sigtest.RekorV2
		}
		if entry.KindVersion.Version == "0.0.1" { // otherwise another program wrote the entry
			out[shape{part, object.HasTSA}] = armored
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("read corpus: %v", err)
	}
	return out
}

type shape struct {
	log   sigtest.Part
	token bool
}

// TestSignLooksLikeGitsign compares the outline of a message with one that gitsign made: every tag and object identifier, every field of the
// log entry, and the extensions of the certificate.
func TestSignLooksLikeGitsign(t *testing.T) {
	s := newSigstore(t, "home")
	theirs := corpus(t)
	if len(theirs) != 4 {
		t.Errorf("got %d shapes in the corpus, want Rekor v1 and v2, each with and without a token", len(theirs))
	}
	for shape, armored := range theirs {
		t.Run(fmt.Sprintf("%s_%t", shape.log, shape.token), func(t *testing.T) {
			opts := sigtest.SignOptions{At: noon, LogPart: shape.log}
			if shape.token {
				opts.TSA = sigtest.By(s)
			}
			ours, err := s.Sign(payload, alice, opts)
			if err != nil {
				t.Fatalf("sign: %v", err)
			}
			if diff := cmp.Diff(outline(t, armored), outline(t, ours)); diff != "" {
				t.Errorf("outline (-gitsign +sigtest):\n%s", diff)
			}
		})
	}
}

// outline describes a message without the values that differ between signatures.
func outline(t *testing.T, armored []byte) []string {
	t.Helper()
	message := parseArmor(t, armored)
	var out []string
	for _, part := range []any{message.Type, message.Content.Version, message.Content.DigestAlgorithms, message.Content.Content.Type} {
		out = append(out, fmt.Sprint(part))
	}
	signer := message.Content.Signers[0]
	out = append(out, fmt.Sprint("signer ", signer.Version, signer.Digest, signer.SignatureAlgorithm))
	for _, a := range signer.Signed {
		out = append(out, fmt.Sprint("signed ", a.Type, tags(t, a.Values)))
	}
	for _, a := range signer.Unsigned {
		out = append(out, fmt.Sprint("unsigned ", a.Type, tags(t, a.Values)))
	}
	for _, raw := range message.Content.Certificates {
		out = append(out, certificateOutline(t, raw.FullBytes)...)
	}
	return append(out, entryOutline(rawEntry(t, message))...)
}

func tags(t *testing.T, values []asn1.RawValue) []int {
	t.Helper()
	var out []int
	for _, v := range values {
		out = append(out, v.Class, v.Tag)
	}
	return out
}

// certificateOutline lists the content of a certificate, except Fulcio's extension 24, which is newer than the format that is compared.
func certificateOutline(t *testing.T, der []byte) []string {
	t.Helper()
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("parse certificate: %v", err)
	}
	out := []string{fmt.Sprint("certificate ", certificate.SignatureAlgorithm, certificate.PublicKeyAlgorithm, certificate.SerialNumber.BitLen() > 150)}
	for _, e := range certificate.Extensions {
		if !e.Id.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 24}) {
			out = append(out, fmt.Sprintf("extension %s critical %t begins %x", e.Id, e.Critical, e.Value[0]))
		}
	}
	return out
}

// entryOutline lists the fields of a log entry that are set, and the values that do not differ between entries. The corpus has entries that
// are the first of their log, where index and hashes are empty.
func entryOutline(entry *rekorpb.TransparencyLogEntry) []string {
	var out []string
	list := func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if field.Name() != "log_index" && field.Name() != "hashes" {
			out = append(out, string(field.FullName()))
		}
		return true
	}
	entry.ProtoReflect().Range(list)
	entry.GetInclusionPromise().ProtoReflect().Range(list)
	entry.GetInclusionProof().ProtoReflect().Range(list)
	lines := strings.Split(entry.GetInclusionProof().GetCheckpoint().GetEnvelope(), "\n")
	return append(out, entry.KindVersion.String(), fmt.Sprintf("%d log id bytes, checkpoint of %d lines, %t", len(entry.LogId.KeyId), len(lines),
		bytes.Contains([]byte(lines[0]), []byte(" - "))))
}
