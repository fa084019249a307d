package verify_test

import (
	"encoding/asn1"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/sigstore/sigstore-go/pkg/root"
	"golang.org/x/crypto/cryptobyte"
	tag "golang.org/x/crypto/cryptobyte/asn1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// TestOneFormOfLogEntry has the rows where a valid log entry is written in another way, which would give the same signed content another commit id.
func TestOneFormOfLogEntry(t *testing.T) {
	t.Parallel()
	v2 := func(mutations ...sigtest.Mutation) func(*testRepo) sigtest.SignOptions {
		return stamped(sigtest.SignOptions{LogPart: sigtest.RekorV2, Mutate: mutations})
	}
	rows := map[string]forgery{
		"encoded_again":           {sign: signed(encodedEntry(func(raw []byte) []byte { return raw })), want: ""},
		"fields_reversed":         {sign: signed(encodedEntry(reversedFields))},
		"field_repeated":          {sign: signed(encodedEntry(func(raw []byte) []byte { return append(raw[:fieldLength(raw):fieldLength(raw)], raw...) }))},
		"long_varint":             {sign: signed(encodedEntry(longVarint))},
		"zero_written":            {sign: v2(encodedEntry(func(raw []byte) []byte { return append(raw, 5<<3, 0) }))},
		"kind":                    {sign: signed(func(m *sigtest.Message) { m.Entry.KindVersion.Kind = "free text" })},
		"version":                 {sign: signed(func(m *sigtest.Message) { m.Entry.KindVersion.Version = "1" })},
		"version_of_the_next_log": {sign: signed(func(m *sigtest.Message) { m.Entry.KindVersion.Version = "0.0.2" })},
		"label_removed":           {sign: signed(func(m *sigtest.Message) { m.Entry.KindVersion = nil })},
		"size_of_another_tree":    {sign: signed(func(m *sigtest.Message) { m.Entry.InclusionProof.TreeSize++ }), want: verify.ReasonBadLogEntry},
		"v2_version":              {sign: v2(func(m *sigtest.Message) { m.Entry.KindVersion.Version = "0.0.3" })},
		"v2_version_of_v2":        {sign: v2(func(m *sigtest.Message) { m.Entry.KindVersion.Version = "0.0.2" }), want: ""},
		"v2_time":                 {sign: v2(func(m *sigtest.Message) { m.Entry.IntegratedTime = noon.Unix() })},
		"v2_promise":              {sign: v2(func(m *sigtest.Message) { m.Entry.InclusionPromise.SignedEntryTimestamp = []byte("x") })},
		"v2_index_of_the_proof":   {sign: v2(func(m *sigtest.Message) { m.Entry.InclusionProof.LogIndex++ })},
		"v2_root":                 {sign: v2(sigtest.FlipRootHash), want: verify.ReasonBadLogEntry},
		"v2_size":                 {sign: v2(func(m *sigtest.Message) { m.Entry.InclusionProof.TreeSize++ }), want: verify.ReasonBadLogEntry},
		"checkpoint_lines":        {sign: signed(checkpoint(func(string) string { return "origin\n1" })), want: verify.ReasonBadLogEntry},
		"checkpoint_signer":       {sign: signed(checkpoint(func(e string) string { return replaceLastOf(e, "rekor-1", "rekor-9") }))},
		"v2_checkpoint_signer":    {sign: v2(checkpoint(func(e string) string { return replaceLastOf(e, "log-1", "log-9") }))},
		"checkpoint_witness":      {sign: signed(checkpoint(func(e string) string { return e + e[strings.LastIndex(e, "\u2014"):] }))},
		"v2_checkpoint_witness":   {sign: v2(checkpoint(func(e string) string { return e + "\u2014 witness.example.org AAAAAAAA\n" }))},
		"checkpoint_line_end":     {sign: signed(checkpoint(func(e string) string { return e + "\n" }))},
		"v2_checkpoint_no_end":    {sign: v2(checkpoint(func(e string) string { return strings.TrimSuffix(e, "\n") }))},
		"checkpoint_base64":       {sign: signed(checkpoint(func(e string) string { return e[:len(e)-9] + "\r" + e[len(e)-9:] }))},
		"checkpoint_key_hint":     {sign: signed(checkpoint(flipKeyHint)), want: verify.ReasonBadLogEntry},
		"v2_checkpoint_key_hint":  {sign: v2(checkpoint(flipKeyHint)), want: verify.ReasonBadLogEntry},
	}
	accepted := []string{"encoded_again", "v2_version_of_v2"}
	for name, row := range rows {
		if row.want == "" && !slices.Contains(accepted, name) {
			row.want = verify.ReasonMalformedSignature
			rows[name] = row
		}
	}
	runForgeries(t, rows)
}

// TestOneFormOfTimestamp has the rows where a timestamp is added to a signature, or written in another way.
func TestOneFormOfTimestamp(t *testing.T) {
	t.Parallel()
	token := func(change func(*testing.T, []byte) []byte) func(*testRepo) sigtest.SignOptions {
		return stamped(sigtest.SignOptions{Mutate: []sigtest.Mutation{func(m *sigtest.Message) { m.Tokens[0] = change(t, m.Tokens[0]) }}})
	}
	data, signer := []int{0, 1, 0}, []int{0, 1, 0, -1, 0}
	set := func(members ...[]byte) []byte {
		return element(tag.Tag(0).Constructed().ContextSpecific(), slices.Concat(members...))
	}
	unknown := element(tag.SEQUENCE, nil)
	runForgeries(t, map[string]forgery{
		"of_another_authority": {sign: func(l *testRepo) sigtest.SignOptions { return sigtest.SignOptions{TSA: foreign(l)} }, want: verify.ReasonUntrustedTimestamp},
		"signature_bit":        {sign: stamped(sigtest.SignOptions{Mutate: []sigtest.Mutation{sigtest.FlipTokenSignature}}), want: verify.ReasonUntrustedTimestamp},
		"encoded_again":        {sign: token(within(signer, func(c []byte) []byte { return c })), want: ""},
		"not_a_token":          {sign: token(func(*testing.T, []byte) []byte { return element(tag.SEQUENCE, nil) }), want: verify.ReasonMalformedSignature},
		"unsigned_attribute":   {sign: token(within(signer, func(c []byte) []byte { return append(c, 0xa1, 0) })), want: verify.ReasonMalformedSignature},
		"revocation_list":      {sign: token(within(data, insertBeforeLast(element(tag.Tag(1).Constructed().ContextSpecific(), nil)))), want: verify.ReasonMalformedSignature},
		"second_signer":        {sign: token(within([]int{0, 1, 0, -1}, func(c []byte) []byte { return append(c, c...) })), want: verify.ReasonMalformedSignature},
		"attributes_reversed":  {sign: token(within([]int{0, 1, 0, -1, 0, 3}, reversedElements)), want: verify.ReasonMalformedSignature},
		"long_length":          {sign: token(within(signer, longLength)), want: verify.ReasonMalformedSignature},
		"version":              {sign: token(within(data, func(c []byte) []byte { return append([]byte{2, 1, 4}, c[3:]...) })), want: verify.ReasonMalformedSignature},
		"empty_certificates":   {sign: token(within(data, insertBeforeLast(set()))), want: ""},
		"unknown_certificate":  {sign: token(within(data, insertBeforeLast(set(unknown)))), want: verify.ReasonUntrustedTimestamp},
		"not_a_certificate":    {sign: token(within(data, insertBeforeLast(set([]byte{4, 0})))), want: verify.ReasonMalformedSignature},
		"own_certificate": {sign: func(l *testRepo) sigtest.SignOptions {
			return token(within(data, insertBeforeLast(set(l.stamper()))))(l)
		}, want: ""},
		"certificate_twice": {sign: func(l *testRepo) sigtest.SignOptions {
			return token(within(data, insertBeforeLast(set(l.stamper(), l.stamper()))))(l)
		}, want: verify.ReasonUntrustedTimestamp},
	})
}

// stamper returns the certificate of the timestamp authority as DER.
func (l *testRepo) stamper() []byte {
	l.Helper()
	parsed, err := root.NewTrustedRootFromJSON(l.options().TrustedRoot)
	if err != nil {
		l.Fatal(err)
	}
	authority, ok := parsed.TimestampingAuthorities()[0].(*root.SigstoreTimestampingAuthority)
	if !ok || authority.Leaf == nil {
		l.Fatal("the trusted root has no certificate of the timestamp authority")
	}
	return authority.Leaf.Raw
}

// encodedEntry writes the log entry as the bytes that change returns for its canonical encoding.
func encodedEntry(change func([]byte) []byte) sigtest.Mutation {
	return func(m *sigtest.Message) {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Entry)
		if err != nil {
			panic(err) // sigtest made it
		}
		m.Entry = nil
		entry := sigtest.Attribute{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 3, 1}, Value: element(tag.OCTET_STRING, change(raw))}
		m.Unsigned = append(m.Unsigned, entry)
	}
}

// fieldLength returns the length of the first field of a message.
func fieldLength(raw []byte) int {
	_, _, length := protowire.ConsumeField(raw)
	return length
}

func reversedFields(raw []byte) []byte {
	var out []byte
	for len(raw) > 0 {
		length := fieldLength(raw)
		out = append(slices.Clone(raw[:length]), out...)
		raw = raw[length:]
	}
	return out
}

// longVarint writes the first field, the index in the log, with a byte more than needed.
func longVarint(raw []byte) []byte {
	end := fieldLength(raw)
	out := append(slices.Clone(raw[:end-1]), raw[end-1]|0x80, 0)
	return append(out, raw[end:]...)
}

// checkpoint changes the checkpoint of the inclusion proof.
func checkpoint(change func(string) string) sigtest.Mutation {
	return func(m *sigtest.Message) {
		c := m.Entry.InclusionProof.Checkpoint
		c.Envelope = change(c.Envelope)
	}
}

func replaceLastOf(s, old, replacement string) string {
	at := strings.LastIndex(s, old)
	return s[:at] + replacement + s[at+len(old):]
}

// flipKeyHint changes the four bytes before the signature that name the key of the log.
func flipKeyHint(envelope string) string {
	at := strings.LastIndexByte(envelope, ' ') + 1
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(envelope[at:], "\n"))
	if err != nil {
		panic(err) // sigtest made it
	}
	raw[0] ^= 1
	return envelope[:at] + base64.StdEncoding.EncodeToString(raw) + "\n"
}

// element returns an element in DER.
func element(t tag.Tag, content []byte) []byte {
	var b cryptobyte.Builder
	b.AddASN1(t, func(b *cryptobyte.Builder) { b.AddBytes(content) })
	return b.BytesOrPanic()
}

// elements splits DER into its elements.
func elements(t *testing.T, der []byte) [][]byte {
	t.Helper()
	var list [][]byte
	for s := cryptobyte.String(der); !s.Empty(); {
		var one cryptobyte.String
		var found tag.Tag
		if !s.ReadAnyASN1Element(&one, &found) {
			t.Fatalf("not DER: %x", der)
		}
		list = append(list, one)
	}
	return list
}

// within returns a function that changes the content of the element at a path and encodes everything around it again. Each number of the path selects an
// element within the one before; -1 is the last one.
func within(path []int, change func(content []byte) []byte) func(*testing.T, []byte) []byte {
	return func(t *testing.T, der []byte) []byte {
		t.Helper()
		if len(path) == 0 {
			return change(der)
		}
		list := elements(t, der)
		at := path[0]
		if at < 0 {
			at = len(list) - 1
		}
		var content cryptobyte.String
		var found tag.Tag
		whole := cryptobyte.String(list[at])
		whole.ReadAnyASN1(&content, &found)
		list[at] = element(found, within(path[1:], change)(t, content))
		return slices.Concat(list...)
	}
}

// insertBeforeLast returns a function that inserts an element before the last element of a content.
func insertBeforeLast(der []byte) func([]byte) []byte {
	return func(content []byte) []byte {
		s := cryptobyte.String(content)
		var one cryptobyte.String
		var found tag.Tag
		last := 0
		for at := 0; !s.Empty(); at += len(one) {
			s.ReadAnyASN1Element(&one, &found)
			last = at
		}
		return slices.Concat(content[:last], der, content[last:])
	}
}

func reversedElements(content []byte) []byte {
	var out []byte
	var one cryptobyte.String
	var found tag.Tag
	for s := cryptobyte.String(content); !s.Empty(); {
		s.ReadAnyASN1Element(&one, &found)
		out = slices.Concat(one, out)
	}
	return out
}

// longLength writes the length of the last element, the signature, with a byte more than needed.
func longLength(content []byte) []byte {
	s := cryptobyte.String(content)
	var one cryptobyte.String
	var found tag.Tag
	for !s.Empty() {
		s.ReadAnyASN1Element(&one, &found)
	}
	start := len(content) - len(one)
	return slices.Concat(content[:start+1], []byte{0x81}, content[start+1:])
}
