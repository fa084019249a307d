package remote

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// endedProgram is the input of a program that has read all of it, replied and ended.
type endedProgram struct{ bytes.Buffer }

func (*endedProgram) Close() error { return io.EOF }

// TestReplyOfAnEndedProgram requests a pack from a program that ends before its input is closed. Its reply is read all the same.
func TestReplyOfAnEndedProgram(t *testing.T) {
	remaining := int64(100)
	in := new(endedProgram)
	s := &stream{in: in, out: &budgetReader{r: strings.NewReader("the pack"), remaining: &remaining}}
	out, err := s.send(t.Context(), []byte("the request"), true)
	if err != nil {
		t.Fatalf("got %v, want the reply", err)
	}
	if reply, err := io.ReadAll(out); err != nil || string(reply) != "the pack" || in.String() != "the request" {
		t.Errorf("got %q, %v after %q, want the reply to the request", reply, err, in.String())
	}
}
