package evidence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
)

// failing is a source that cannot be read.
type failing struct{}

func (failing) Bundles(context.Context, gitsource.ID) ([]byte, error) {
	return nil, errors.New("no disk")
}

// FuzzRead: what is read from a file of evidence is found by what it is about, as it was written.
func FuzzRead(f *testing.F) {
	sig, err := sigtest.New(sigtest.Options{Seed: "fuzz"})
	if err != nil {
		f.Fatal(err)
	}
	_, logged, err := sig.CommitOnline(sigtest.CommitSpec{Message: "fuzz"}, sigtest.Identity{Subject: "a@lab.test", Issuer: "https://issuer.test"}, sigtest.SignOptions{})
	if err != nil {
		f.Fatal(err)
	}
	bundle, err := logged.Bundle()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bundle)
	f.Add(append(append(bytes.Clone(bundle), '\n', '\n'), bundle...))
	f.Add([]byte(`{"messageSignature":{"messageDigest":{"digest":"AAAA"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		for key, bundles := range set {
			for _, b := range bundles {
				about, err := subject(b)
				if err != nil || about != key || !bytes.Contains(text, b) {
					t.Errorf("got %q under %x, %v, want a line under what it is about", b, key, err)
				}
			}
		}
	})
}

// FuzzEntry: whatever a log replies, a bundle is only made of an entry about this id and this certificate, and its JSON is on one line.
func FuzzEntry(f *testing.F) {
	sig, err := sigtest.New(sigtest.Options{Seed: "fuzz"})
	if err != nil {
		f.Fatal(err)
	}
	_, logged, err := sig.CommitOnline(sigtest.CommitSpec{Message: "fuzz"}, sigtest.Identity{Subject: "a@lab.test", Issuer: "https://issuer.test"}, sigtest.SignOptions{})
	if err != nil {
		f.Fatal(err)
	}
	reply, err := json.Marshal(map[string]any{"body": logged.Body, "integratedTime": 1, "logID": "aa", "logIndex": 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(reply)
	f.Add([]byte(`{"body":"e30=","verification":{"inclusionProof":{"hashes":["zz"]}}}`))
	id, digest := gitsource.ID(logged.ID), sha256.Sum256([]byte(logged.ID))
	f.Fuzz(func(t *testing.T, reply []byte) {
		var e entry
		if json.Unmarshal(reply, &e) != nil {
			return
		}
		signature, err := e.signatureOf(id, logged.Certificate)
		if err != nil {
			return
		}
		bundle, err := e.bundle(id, logged.Certificate, signature)
		if err != nil {
			return
		}
		if about, err := subject(bundle); err != nil || about != digest || bytes.ContainsRune(bundle, '\n') {
			t.Errorf("got %s about %x, %v, want one line about the commit", bundle, about, err)
		}
	})
}
