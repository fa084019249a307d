package journal

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	_ "gitops-agent/internal/memtemp"
)

// killDir is an environment variable. If it is set, this test binary is the program that TestKill kills.
const killDir = "JOURNAL_TEST_KILL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		if err := appendForever(dir); err != nil {
			panic(err)
		}
	}
	debug.SetGCPercent(400) // the tests allocate much and keep little
	m.Run()
}

const killWriters = 8

// appendForever appends from several goroutines and prints each record after its Append returned.
func appendForever(dir string) error {
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
				_, _ = os.Stdout.WriteString(line + "\n") // the reader may have closed the pipe
			}
		}()
	}
	return <-failed
}

// killOptions returns options with frequent rotations and compactions that keep everything.
func killOptions(dir string) Options {
	return Options{Dir: dir, SegmentSize: 8 << 10, CompactAfter: 2, Retain: Retain{Records: 1 << 30}}
}

// A process is killed with SIGKILL while it appends, rotates and compacts. Every acknowledged record exists, the two records of a call are
// next to each other, the records of each writer are in order, and the next process can lock and use the directory.
//
// The test does not run in parallel: between fork and exec, a new process shares the locks of every journal that is open.
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
			t.Fatalf("got %+v next to %+v, want the two records of a call", one, two)
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

// killOnce runs the program until it has acknowledged enough records, kills it, and adds the records to acked.
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
	printed := 0
	for lines.Scan() {
		acked[lines.Text()] = true
		if printed++; printed == enough {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // returns an error, because the program was killed
	if printed < enough {
		t.Fatalf("got %d records before the program ended by itself, want %d", printed, enough)
	}
}
