package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// reseal changes a header and corrects its checksum.
func reseal(change func([]byte), b []byte) []byte {
	b = bytes.Clone(b)
	change(b)
	binary.LittleEndian.PutUint32(b[120:], crc32.Checksum(b[:120], castagnoli))
	return b
}

func sampleHeader() header {
	c := newChain(time.Date(2026, 3, 1, 12, 0, 0, 7, time.UTC), 42)
	return header{role: roleBase, chain: c, kept: 17, end: [32]byte{1, 2, 3}}
}

func TestHeaderRoundTrip(t *testing.T) {
	want := sampleHeader()
	b := want.bytes()
	if len(b) != headerSize {
		t.Fatalf("got %d bytes, want %d", len(b), headerSize)
	}
	got, err := readHeader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(header{}, chain{})); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if !got.chain.since().Equal(time.Date(2026, 3, 1, 12, 0, 0, 7, time.UTC)) {
		t.Errorf("got %s, want the start of the lineage", got.chain.since())
	}
}

func TestReadHeaderRefuses(t *testing.T) {
	whole := sampleHeader().bytes()
	tests := map[string]struct {
		content []byte
		want    error
	}{
		"empty":       {nil, errHeader},
		"short":       {whole[:headerSize-1], errHeader},
		"magic":       {reseal(func(b []byte) { b[0] = 'G' }, whole), errHeader},
		"role":        {reseal(func(b []byte) { b[12] = 3 }, whole), errHeader},
		"older":       {reseal(func(b []byte) { b[8] = 0 }, whole), errHeader},
		"newer":       {reseal(func(b []byte) { b[8] = largeFileVersion + 1 }, whole), ErrNewerFormat},
		"newer_wrong": {append([]byte(nil), append(bytes.Clone(whole[:8]), append([]byte{largeFileVersion + 1}, whole[9:]...)...)...), errHeader},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := readHeader(bytes.NewReader(tt.content)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// The format on disk never changes: these are the bytes that docs/internals/journal.md describes.
func TestFormatOnDisk(t *testing.T) {
	c := chain{id: [16]byte{0xa1}, born: 1, next: 1, link: [32]byte{0xb2}}
	h := header{role: roleSegment, chain: c}.bytes()
	if got := h[:16]; !bytes.Equal(got, []byte("gitopsj\n\x01\x00\x00\x00\x01\x00\x00\x00")) {
		t.Errorf("got header % x", got)
	}
	if h[16] != 0xa1 || h[32] != 1 || h[40] != 1 || h[48] != 0xb2 {
		t.Errorf("got header % x, want lineage, time, seq and link at 16, 32, 40 and 48", h)
	}
	f := frame{seq: 5, time: 6, count: 1, payload: []byte(`{"v":1}`)}.after(c.link)
	b := f.append(nil)
	if !bytes.Equal(b[:8], []byte("\xffJRN\x07\x00\x00\x00")) || b[44] != 5 || b[52] != 6 || b[60] != 1 || string(b[64:]) != `{"v":1}` {
		t.Errorf("got frame % x", b)
	}
	encoded, err := encodeBody(oneOfEach()[5])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(payloadOf([]element{encoded})), `{"v":1,"records":[{"assigned":{"kind":"VirtualMachine","name":"web-1","vmid":101}}]}`; got != want {
		t.Errorf("got payload %s, want %s", got, want)
	}
}
