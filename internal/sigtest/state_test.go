package sigtest_test

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
)

func TestSaveAndLoad(t *testing.T) {
	s, dir := newSigstore(t, "home"), t.TempDir()
	opts := sigtest.SignOptions{At: noon.Add(2 * time.Hour), LogPart: sigtest.RekorV2, TSA: sigtest.By(s)}
	for _, part := range []sigtest.Part{sigtest.CA, sigtest.CTLog, sigtest.RekorV1, sigtest.RekorV2, sigtest.TSA} {
		if _, err := s.Sign(payload, alice, opts); err != nil {
			t.Fatalf("sign: %v", err)
		}
		if err := s.Rotate(part, noon.Add(time.Hour)); err != nil {
			t.Fatalf("rotate %s: %v", part, err)
		}
	}
	s.Retire(sigtest.TSA, noon.AddDate(1, 0, 0))
	if err := s.Save(dir); err != nil {
		t.Fatalf("save: %v", err)
	}
	loaded, err := sigtest.Load(dir)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	first, second := everything(t, s), everything(t, loaded)
	if !bytes.Equal(first, second) {
		t.Errorf("got another Sigstore after loading:\n%s\nwant\n%s", second, first)
	}
}

// everything returns the trusted root and one signature for each log.
func everything(t *testing.T, s *sigtest.Sigstore) []byte {
	t.Helper()
	out, err := s.TrustedRoot()
	if err != nil {
		t.Fatalf("write trusted root: %v", err)
	}
	for _, part := range []sigtest.Part{sigtest.RekorV1, sigtest.RekorV2} {
		armored, err := s.Sign(payload, alice, sigtest.SignOptions{At: noon.Add(2 * time.Hour), LogPart: part, TSA: sigtest.By(s)})
		if err != nil {
			t.Fatalf("sign: %v", err)
		}
		if _, err := verifyArmored(t, s, payload, armored, part); err != nil {
			t.Errorf("%s: got %v, want a verified message", part, err)
		}
		out = append(out, armored...)
	}
	return out
}

func TestLoadFails(t *testing.T) {
	if _, err := sigtest.Load(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty directory: got %v, want %v", err, fs.ErrNotExist)
	}
	if err := newSigstore(t, "home").Save(t.TempDir() + "/absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent directory: got %v, want %v", err, fs.ErrNotExist)
	}
}
