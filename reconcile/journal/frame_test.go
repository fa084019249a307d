package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

func sampleFrame() frame {
	link := newChain(noon, 1).link
	return frame{seq: 3, time: noon.UnixNano(), count: 1, payload: []byte(`{"v":1,"records":[{"event":{"name":"x"}}]}`)}.after(link)
}

// resum changes a frame and corrects its CRC.
func resum(change func([]byte), b []byte) []byte {
	b = bytes.Clone(b)
	change(b)
	binary.LittleEndian.PutUint32(b[8:], frameSum(b))
	return b
}

func TestReadFrameRefuses(t *testing.T) {
	whole := sampleFrame().append(nil)
	tests := map[string]struct {
		content []byte
		want    error
	}{
		"nothing":       {nil, io.EOF},
		"half_a_head":   {whole[:frameHead-1], errShort},
		"head_alone":    {whole[:frameHead], errShort},
		"half_a_body":   {whole[:len(whole)-1], errShort},
		"mark":          {append([]byte{0}, whole[1:]...), errFrame},
		"length_zero":   {resum(func(b []byte) { clear(b[4:8]) }, whole), errFrame},
		"length_beyond": {resum(func(b []byte) { binary.LittleEndian.PutUint32(b[4:], maxPayload+1) }, whole), errFrame},
		"checksum":      {append(bytes.Clone(whole[:len(whole)-1]), '!'), errFrame},
		"no_records":    {resum(func(b []byte) { clear(b[60:64]) }, whole), errFrame},
		"seq_zero":      {resum(func(b []byte) { clear(b[44:52]) }, whole), errFrame},
		"seq_overflow":  {resum(func(b []byte) { binary.LittleEndian.PutUint64(b[44:], 1<<64-1); b[60] = 2 }, whole), errFrame},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := readFrame(bytes.NewReader(tt.content), maxPayload); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestFrameFollows(t *testing.T) {
	first := sampleFrame()
	second := frame{seq: 4, count: 1, payload: []byte("{}")}.after(first.link)
	if !second.follows(first.link) || second.follows(second.link) {
		t.Error("got a commit that does not follow exactly its predecessor")
	}
	for name, change := range map[string]func(*frame){
		"seq":     func(f *frame) { f.seq++ },
		"time":    func(f *frame) { f.time++ },
		"count":   func(f *frame) { f.count++ },
		"payload": func(f *frame) { f.payload = []byte("[]") },
	} {
		changed := second
		change(&changed)
		if changed.follows(first.link) {
			t.Errorf("%s: got a link that does not cover the field", name)
		}
	}
}

func TestFindFrame(t *testing.T) {
	want := sampleFrame()
	whole := want.append(nil)
	hay := append([]byte("noise\xffJRN\xffJR"), whole...)
	f, at := findFrame(hay, maxPayload)
	if at != len(hay)-len(whole) || f.link != want.link {
		t.Errorf("got a frame at %d, want it at %d", at, len(hay)-len(whole))
	}
	if _, at := findFrame(hay[:len(hay)-1], maxPayload); at != -1 {
		t.Errorf("got a frame at %d, want none", at)
	}
}

// A frame that is read is written as the same bytes, and its records have the numbers in its head.
func FuzzReadFrame(f *testing.F) {
	whole := sampleFrame().append(nil)
	f.Add(whole)
	f.Add(append(bytes.Clone(whole), whole...))
	f.Add(resum(func(b []byte) { b[60] = 2 }, whole))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 12 {
			binary.LittleEndian.PutUint32(b[8:], frameSum(b)) // without it, no input would pass the checksum
		}
		in := bytes.NewReader(b)
		got, err := readFrame(in, maxPayload)
		if err != nil {
			return
		}
		read := b[:len(b)-in.Len()]
		if again := got.append(nil); !bytes.Equal(read, again) {
			t.Fatalf("got % x, want % x", again, read)
		}
		if records, err := got.records(); err == nil && (len(records) != got.count || records[0].Seq != got.seq) {
			t.Fatalf("got %d records from %d, want %d from %d", len(records), records[0].Seq, got.count, got.seq)
		}
	})
}
