package sigtest_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
)

func TestWindows(t *testing.T) {
	tests := map[string]struct {
		part    sigtest.Part
		opts    sigtest.SignOptions
		refused string // the error of sigstore-go for a signature made after the part retired
	}{
		"ca":       {sigtest.CA, sigtest.SignOptions{}, "certificate"},
		"ctlog":    {sigtest.CTLog, sigtest.SignOptions{}, "0 SCT entries"},
		"rekor_v1": {sigtest.RekorV1, sigtest.SignOptions{}, "not enough verified log entries"},
		"tsa":      {sigtest.TSA, sigtest.SignOptions{LogPart: sigtest.RekorV2}, "threshold not met"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSigstore(t, "home")
			sign := func(at time.Time) []byte {
				opts := test.opts
				opts.At, opts.TSA = at, sigtest.By(s)
				armored, err := s.Sign(payload, alice, opts)
				if err != nil {
					t.Fatalf("sign: %v", err)
				}
				return armored
			}
			before, after := sign(noon), sign(noon.Add(2*time.Hour))
			s.Retire(test.part, noon.Add(time.Hour))
			if _, err := verifyArmored(t, s, payload, before, test.opts.LogPart); err != nil {
				t.Errorf("signed before retiring: got %v, want a verified message", err)
			}
			if _, err := verifyArmored(t, s, payload, after, test.opts.LogPart); err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("signed after retiring: got %v, want an error with %q", err, test.refused)
			}
			if err := s.Rotate(test.part, noon.Add(time.Hour)); err != nil {
				t.Fatalf("rotate: %v", err)
			}
			for _, armored := range [][]byte{before, sign(noon.Add(2 * time.Hour))} {
				if _, err := verifyArmored(t, s, payload, armored, test.opts.LogPart); err != nil {
					t.Errorf("after rotation: got %v, want a verified message", err)
				}
			}
			if _, err := verifyArmored(t, s, payload, sign(noon), test.opts.LogPart); err == nil {
				t.Errorf("signed by the new key before its time: got a verified message, want a refusal")
			}
		})
	}
}

func TestSignIsDeterministic(t *testing.T) {
	sign := func() []byte {
		s := newSigstore(t, "home")
		var out []byte
		for range 3 {
			armored, err := s.Sign(payload, alice, sigtest.SignOptions{At: noon, TSA: sigtest.By(s)})
			if err != nil {
				t.Fatalf("sign: %v", err)
			}
			out = append(out, armored...)
		}
		root, err := s.TrustedRoot()
		if err != nil {
			t.Fatalf("write trusted root: %v", err)
		}
		return append(out, root...)
	}
	if first, second := sign(), sign(); !bytes.Equal(first, second) {
		t.Errorf("got two outputs for one seed:\n%s\n%s", first, second)
	}
}

func TestSigstoresAreIndependent(t *testing.T) {
	one, err := sigtest.New(sigtest.Options{})
	if err != nil {
		t.Fatalf("make Sigstore: %v", err)
	}
	two, err := sigtest.New(sigtest.Options{})
	if err != nil {
		t.Fatalf("make Sigstore: %v", err)
	}
	armored, err := one.Sign(payload, alice, sigtest.SignOptions{At: noon})
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	if _, err := verifyArmored(t, two, payload, armored, sigtest.RekorV1); err == nil {
		t.Errorf("got a message verified under another Sigstore's root, want a refusal")
	}
}

func TestSignConcurrently(t *testing.T) {
	s := newSigstore(t, "home")
	messages := make([][]byte, 40)
	var work sync.WaitGroup
	for i := range messages {
		work.Go(func() {
			var err error
			if messages[i], err = s.Sign(payload, alice, sigtest.SignOptions{At: noon.Add(time.Duration(i) * time.Second), TSA: sigtest.By(s)}); err != nil {
				t.Errorf("sign %d: %v", i, err)
			}
			s.Retire(sigtest.CTLog, noon.AddDate(1, 0, 0))
			if _, err := s.TrustedRoot(); err != nil {
				t.Errorf("write trusted root: %v", err)
			}
		})
	}
	work.Wait()
	for i, armored := range messages {
		if _, err := verifyArmored(t, s, payload, armored, sigtest.RekorV1); err != nil {
			t.Errorf("message %d: got %v, want a verified message", i, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, opts := range map[string]sigtest.Options{
		"authority_ed25519": {CAKey: sigtest.Ed25519},
		"authority_unknown": {CAKey: "P-512"},
		"log_p384":          {RekorV2Key: sigtest.P384},
		"log_unknown":       {RekorV2Key: "P-512"},
	} {
		if _, err := sigtest.New(opts); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
	s := newSigstore(t, "home")
	for name, opts := range map[string]sigtest.SignOptions{
		"no_authority": {CA: sigtest.Absent()},
		"unknown_log":  {LogPart: sigtest.TSA},
	} {
		if _, err := s.Sign(payload, alice, opts); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}

func TestOtherKeys(t *testing.T) {
	s, err := sigtest.New(sigtest.Options{CAKey: sigtest.P256, RekorV2Key: sigtest.P256})
	if err != nil {
		t.Fatalf("make Sigstore: %v", err)
	}
	for _, part := range []sigtest.Part{sigtest.RekorV1, sigtest.RekorV2} {
		armored, err := s.Sign(payload, alice, sigtest.SignOptions{LogPart: part, TSA: sigtest.By(s)})
		if err != nil {
			t.Fatalf("sign: %v", err)
		}
		if _, err := verifyArmored(t, s, payload, armored, part); err != nil {
			t.Errorf("%s: got %v, want a verified message", part, err)
		}
	}
}
