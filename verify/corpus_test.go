package verify

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
)

// corpusObject is one line of the corpus: a public or recorded object with its expected verdict.
type corpusObject struct {
	ID      gitsource.ID `json:"sha"`
	Type    string       `json:"type"`
	Raw     []byte       `json:"raw"`
	Class   string       `json:"class"`
	Verdict string       `json:"verdict"`
	Reason  string       `json:"reason"`
	Subject string       `json:"san"`
	Issuer  string       `json:"issuer"`
	Times   []string     `json:"times"`
}

// readCorpus returns the objects of a corpus file. It skips the test if the corpus is absent.
func readCorpus(tb testing.TB, name string) []corpusObject {
	tb.Helper()
	f, err := os.Open(filepath.Join("..", "..", "shared", "corpus", name))
	if errors.Is(err, os.ErrNotExist) {
		tb.Skip("the corpus of signed commits in ../shared is absent")
	}
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var objects []corpusObject
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var o corpusObject
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			tb.Fatal(err)
		}
		objects = append(objects, o)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return objects
}

// corpusRoot returns the trusted root that belongs to a corpus file.
func corpusRoot(tb testing.TB, name string) []byte {
	tb.Helper()
	json, err := os.ReadFile(filepath.Join("..", "..", "shared", "corpus", name))
	if errors.Is(err, os.ErrNotExist) {
		tb.Skip("the corpus of signed commits in ../shared is absent")
	}
	if err != nil {
		tb.Fatal(err)
	}
	return json
}

// corpusPolicy returns a policy with a trusted root of the corpus and the given signers.
func corpusPolicy(tb testing.TB, root string, subjects ...Signer) *Policy {
	tb.Helper()
	p, err := NewPolicy(Options{
		TrustedRoot: corpusRoot(tb, root), Signers: subjects, Branch: "main", Binding: BindingNone, TrustOnFirstUse: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// judgeObject verifies a raw object under p as an audit does.
func judgeObject(p *Policy, o corpusObject) Verdict {
	v := Verdict{Object: o.ID}
	split := splitCommit
	if o.Type == "tag" {
		split = splitTag
	}
	taken, err := split(o.Raw)
	if err == nil {
		_, err = p.auditObject(context.Background(), taken, &v)
	}
	return v.conclude(err)
}

// publicSigners returns one signer for each identity that signed one of objects.
func publicSigners(objects []corpusObject) []Signer {
	var signers []Signer
	seen := map[string]bool{}
	for _, o := range objects {
		if !seen[o.Issuer+" "+o.Subject] {
			signers = append(signers, Signer{Name: o.Issuer + " " + o.Subject, Issuer: o.Issuer, Subject: o.Subject, May: []Role{RoleChange}})
		}
		seen[o.Issuer+" "+o.Subject] = true
	}
	return signers
}

// corpusReasons maps the beginning of a reason text in the corpus files to a Reason. The texts are not from this package.
var corpusReasons = []struct {
	prefix string
	want   Reason
}{
	{"unsigned", ReasonUnsigned},
	{"signature is not a Sigstore CMS", ReasonNotSigstore},
	{"no embedded Rekor entry", ReasonOnlineOnly},
	{"cms: want only the leaf", ReasonMalformedSignature},
	{"failed to verify certificate identity", ReasonWrongIdentity},
	{"failed to verify timestamps", ReasonNoTrustedTime},
}

func corpusReason(tb testing.TB, o corpusObject) Reason {
	tb.Helper()
	for _, r := range corpusReasons {
		if strings.HasPrefix(o.Reason, r.prefix) {
			return r.want
		}
	}
	tb.Fatalf("corpusReasons has no prefix of %q", o.Reason)
	return ""
}

func TestCorpusPublicAccepted(t *testing.T) {
	objects := readCorpus(t, "public-ok.jsonl")
	p := corpusPolicy(t, "trusted_root.public-good.json", publicSigners(objects)...)
	nobody := corpusPolicy(t, "trusted_root.public-good.json", Signer{Name: "x", Issuer: "x", Subject: "x", May: []Role{RoleChange}})
	for _, o := range objects {
		requireAccepted(t, o, judgeObject(p, o))
		if v := judgeObject(nobody, o); v.Accepted || v.Reason != ReasonWrongIdentity {
			t.Errorf("%s without its signer: got %v %v, want %s", o.ID, v.Accepted, v.Err, ReasonWrongIdentity)
		}
	}
}

func requireAccepted(tb testing.TB, o corpusObject, v Verdict) {
	tb.Helper()
	if !v.Accepted {
		tb.Errorf("%s: got %v, want it accepted", o.ID, v.Err)
		return
	}
	_, proven, _ := strings.Cut(o.Times[0], "@")
	if v.Subject != o.Subject || v.Issuer != o.Issuer || v.ProvenTime.Format(time.RFC3339) != proven {
		tb.Errorf("%s: got %s of %s at %v, want %s of %s at %s", o.ID, v.Subject, v.Issuer, v.ProvenTime, o.Subject, o.Issuer, proven)
	}
}

func TestCorpusPublicRefused(t *testing.T) {
	objects := readCorpus(t, "public-negative.jsonl")
	p := corpusPolicy(t, "trusted_root.public-good.json", Signer{Name: "x", Issuer: "x", Subject: "x", May: []Role{RoleChange}})
	for _, o := range objects {
		want := corpusReason(t, o)
		if v := judgeObject(p, o); v.Accepted || v.Reason != want || v.Hint == "" {
			t.Errorf("%s %s: got %v %s (%v), want %s", o.Type, o.ID, v.Accepted, v.Reason, v.Err, want)
		}
	}
}

func TestCorpusPrivateStack(t *testing.T) {
	objects := readCorpus(t, "private-stack.jsonl")
	p := corpusPolicy(t, "trusted_root.private-stack.json",
		Signer{Name: "alice", Issuer: "http://127.0.0.1:5556", Subject: "alice@lab.test", May: []Role{RoleChange}})
	for _, o := range objects {
		v := judgeObject(p, o)
		if o.Verdict == "ok" {
			requireAccepted(t, o, v)
			continue
		}
		if want := corpusReason(t, o); v.Accepted || v.Reason != want {
			t.Errorf("%s %s: got %v %s (%v), want %s", o.Type, o.ID, v.Accepted, v.Reason, v.Err, want)
		}
	}
}

func BenchmarkProveCorpus(b *testing.B) {
	objects := readCorpus(b, "public-ok.jsonl")
	p := corpusPolicy(b, "trusted_root.public-good.json", publicSigners(objects)...)
	for i := 0; b.Loop(); i++ {
		if v := judgeObject(p, objects[i%len(objects)]); !v.Accepted {
			b.Fatal(v.Err)
		}
	}
}
