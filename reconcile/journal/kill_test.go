package journal

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// killDir, when set, makes this test binary the program that TestKill kills.
const killDir = "JOURNAL_TEST_KILL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		if err := appendForEver(dir); err != nil {
			panic(err)
		}
	}
	m.Run()
}

const killWriters = 8

// appendForEver appends from several goroutines and prints each record once its Append returned.
func appendForEver(dir string) error {
	j, err := Open(killOptions(dir))
	if err != nil {
		return err
	}
	round := j.State().Seq
	failed := make(chan error)
	for w := range killWriters {
		go func() {
			for i := 0; ; i++ {
				line := fmt.Sprintf("%d %d %d", round, w, i)
				if err := j.Append(context.Background(), Event{Name: "one", Message: line}, Event{Name: "two", Message: line}); err != nil {
					failed <- err
				}
				_, _ = os.Stdout.WriteString(line + "\n") // the reader may be gone already
			}
		}()
	}
	return <-failed
}

// killOptions rotate and compact all the time, and keep everything.
func killOptions(dir string) Options {
	return Options{Dir: dir, SegmentSize: 8 << 10, CompactAfter: 2, Retain: Retain{Records: 1 << 30}}
}

// A process that is killed with SIGKILL while it appends, rotates and compacts leaves every acknowledged record, the two of a
// call side by side, each writer's in its order, and a directory that the next process can lock and use.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acked := map[string]bool{}
	for round := range 6 {
		killOnce(t, dir, 150+100*round, acked)
	}
	j := openJournal(t, killOptions(dir))
	if err := j.Healthy(); err != nil {
		t.Fatal(err)
	}
	mustClose(t, j)

	records := readAll(t, dir)
	next := map[string]int{}
	for i := 0; i < len(records); i += 2 {
		one, two := records[i].Body.(Event), records[i+1].Body.(Event)
		if one.Name != "one" || two.Name != "two" || one.Message != two.Message {
			t.Fatalf("got %+v beside %+v, want the two of a call", one, two)
		}
		at := strings.LastIndexByte(one.Message, ' ')
		writer := one.Message[:at]
		if want := fmt.Sprint(next[writer]); one.Message[at+1:] != want {
			t.Fatalf("got %s, want %s of writer %s", one.Message, want, writer)
		}
		next[writer]++
		delete(acked, one.Message)
	}
	if len(acked) != 0 {
		t.Errorf("got %d acknowledged records missing, want none: %v", len(acked), acked)
	}
}

// killOnce runs the program until it acknowledged enough, kills it, and adds what it had said to acked.
func killOnce(t *testing.T, dir string, enough int, acked map[string]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	said := 0
	for lines.Scan() {
		acked[lines.Text()] = true
		if said++; said == enough {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed, and says so
	if said < enough {
		t.Fatalf("got %d records before the program ended by itself, want %d", said, enough)
	}
}
